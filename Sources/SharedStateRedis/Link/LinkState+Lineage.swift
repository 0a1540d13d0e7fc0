/// Support for distinguishing a loss from a deletion: the server's vitals, grace periods for other services, and a
/// bounded memory.
extension LinkState {
  /// The server's vitals as reported last.
  var latestVitals: Vitals { online?.vitals.latest ?? Vitals() }

  /// The server's vitals when it sent the messages that arrive now, or earlier ones.
  var announcedVitals: Vitals { online?.vitals.announced ?? Vitals() }

  /// A replica remembers more than before. If all of it is too much, the oldest documents are forgotten.
  mutating func remembered(_ growth: Memory.Growth, by id: ReplicaID) {
    memories.add(growth, of: id)
    while let oldest = memories.popExcess() {
      memories.forget(bytes: members[oldest]?.replica.verified.memory.forgetOldest() ?? 0)
    }
  }

  /// Asks for the vitals if a replica needs them, or if the last ones are old and there are requests to send.
  mutating func takeVitals(into work: inout Work, now: Instant) {
    let isCommitting = online.map { $0.commits.waiting > 0 } ?? false
    // A message may have explained the write that the first value was to be checked for.
    let isChecking = online?.reads.first(.check).map { members[$0]?.online?.reading.isDue ?? false } ?? false
    let isActive = online?.reads.isWaiting ?? false || isCommitting || isChecking
    takeVitals(isActive: isActive, into: &work, now: now)
  }

  /// Asks for the vitals if it is time to.
  ///
  /// - Parameter isActive: Whether there are other requests to send.
  mutating func takeVitals(isActive: Bool, into work: inout Work, now: Instant) {
    guard let asking = online?.vitals.takeQuestion(isActive: isActive, now: now) else { return }
    request(.vitals(asking), .vitals, on: .writer, into: &work, now: now)
  }

  /// The vitals as reported in the present session.
  func known(_ reported: Vitals) -> Vitals {
    var vitals = reported
    if vitals.session != nil { vitals.session = session.epoch }
    return vitals
  }

  /// Asks for the bases that replicas need for merges.
  mutating func takeBases(into work: inout Work, now: Instant) {
    while let (id, version) = online?.bases.takeQuestion() {
      guard let (key, bytes) = members[id]?.base(of: version) else {
        online?.bases.answered()
        continue
      }
      request(.base(id, version), .base(key: key, maximumBytes: bytes), on: .writer, into: &work, now: now)
    }
  }

  /// The server has answered what it keeps of a version; `nil`: nothing.
  mutating func received(_ content: StoredValue.Content?, of version: Version, for id: ReplicaID) {
    online?.bases.answered()
    apply(members[id]?.replica.foundBase(content, of: version), to: id)
  }

  mutating func vitalsRefused() {
    online?.vitals.refuse()
    emit(.vitalsRefused, once: .vitalsRefused)
  }

  /// The server has reported its vitals; `nil` if it no longer does.
  mutating func received(_ reported: Vitals?, for ids: [ReplicaID], epoch: UInt64, now: Instant) {
    let reported = reported.map(known)
    if let reported {
      guard reported.continues(latestVitals) else {
        // Data of another server took the place of this one's without a break of the connection, so everything has to be
        // read again.
        return failed(epoch: epoch, error: .disconnected(reason: "another primary has taken over"), now: now)
      }
      online?.vitals.note(reported)
      if online?.vitals.isHearingBehind ?? false { wake() }
    } else {
      vitalsRefused()
    }
    for id in ids {
      apply(members[id]?.replica.counted(reported), to: id)
      reportEdit(of: id, now: now)
    }
  }
}

extension LinkState.Member {
  /// The key that keeps a version, and the size of the largest document there.
  fileprivate func base(of version: Version) -> (key: String, bytes: Int)? {
    replica.names.base(of: version).map { ($0, replica.policy.maximumBytes) }
  }
}
