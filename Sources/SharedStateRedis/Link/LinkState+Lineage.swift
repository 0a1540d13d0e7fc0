/// Support for telling a loss from a deletion: the server's vitals, grace periods for other services, and a bounded
/// memory.
extension LinkState {
  /// Begins with the vitals of a new connection. A server that does not reveal its era has another one for each
  /// session.
  mutating func beginVitals(_ facts: ServerFacts?, now: Instant) {
    let reported = facts?.vitals ?? Vitals(era: Era(UInt32.random(in: .min ... .max, using: &random)))
    vitals.begin(reported, clock: facts?.clock, now: now)
    if reported.evictions == nil { vitalsRefused() }
  }

  /// A replica remembers more than before. If all of it is too much, the oldest documents are forgotten.
  mutating func remembered(_ growth: Memory.Growth, by id: ReplicaID) {
    memories.add(growth, of: id)
    while let oldest = memories.popExcess() {
      memories.forget(bytes: members[oldest]?.replica.evidence.memory.forgetOldest() ?? 0)
    }
  }

  /// Asks for the vitals if a replica needs them, or if the last ones are old and there are requests to send.
  mutating func takeVitals(into work: inout Work, now: Instant) {
    gracePeriods.begin(antiEntropy: configuration.antiEntropy, now: now)
    while let (grace, id) = gracePeriods.popEnded(now: now) { apply(members[id]?.replica.graceEnded(grace), to: id) }
    while let id = checks.popConfirmation() { check(id, .document, now: now) }
    let isCommitting = commits.isWaiting || breaks.queue.first != nil
    // A message may have explained the write that the first value was to be checked for.
    let isChecking = checks.first(.checks).map { members[$0]?.looks.isCheckDue ?? false } ?? false
    let isAsked = reads.isWaiting || isCommitting || isChecking
    takeVitals(isActive: isAsked, into: &work, now: now)
  }

  /// Asks for the vitals if it is time to.
  ///
  /// - Parameter isActive: Whether there are other requests to send.
  mutating func takeVitals(isActive: Bool, into work: inout Work, now: Instant) {
    guard let asking = vitals.takeQuestion(isActive: isActive, now: now) else { return }
    request(.vitals(asking), .vitals, on: .writer, into: &work, now: now)
  }

  private mutating func vitalsRefused() {
    if vitals.refuse() { emit(.vitalsRefused) }
  }

  /// The server has reported its vitals; `nil` if it no longer does.
  mutating func told(_ reported: Vitals?, to ids: [ReplicaID], epoch: UInt64, now: Instant) {
    if let reported {
      guard reported.era == vitals.latest.era else {
        // A new era has begun without a break of the connection, so everything has to be read again.
        return failed(epoch: epoch, error: .disconnected(reason: "another primary has taken over"), now: now)
      }
      vitals.tell(reported)
      if vitals.isHearingBehind { wake(.subscriber) }
    } else {
      vitalsRefused()
    }
    for id in ids { apply(members[id]?.replica.counted(reported), to: id) }
  }
}
