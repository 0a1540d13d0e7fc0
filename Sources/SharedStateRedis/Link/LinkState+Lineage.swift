/// Support for telling a loss from a deletion: the server's vitals, grace periods for other services, and a bounded
/// memory.
extension LinkState {
  /// Replicas that wait for other services that may know better.
  struct Waits: Sendable {
    /// Requested waits that are not queued yet.
    var requested: [(Grace, ReplicaID)] = []
    var moments = Queue<(at: Instant, ReplicaID)>()
    var intervals = Queue<(at: Instant, ReplicaID)>()

    /// How long other services most likely take to look at a value.
    static let moment = Duration.seconds(1)

    var next: Instant? { [moments.first?.at, intervals.first?.at].compactMap(\.self).min() }
  }

  /// The documents that the memories of all replicas hold together.
  struct Memories: Sendable {
    static let maximumBytes = 16 << 20

    var bytes = 0
    /// The replicas in the order of their remembered documents, the oldest first: one entry for each document.
    var order = Queue<ReplicaID>()
    /// How many entries belong to replicas that are gone, at most.
    var departed = 0
  }

  /// How long reported vitals count as new.
  static let vitalsInterval = Duration.seconds(1)

  /// The server's clock, in microseconds since 1970; `nil` if it is not known.
  func serverClock(at now: Instant) -> UInt64? {
    clock.map { $0.server &+ UInt64(clamping: (now - $0.at).wholeMicroseconds) }
  }

  /// Begins with the vitals of a new connection. A server that does not reveal its era has another one for each
  /// session.
  mutating func beginVitals(_ facts: ServerFacts?, now: Instant) {
    vitals = facts?.vitals ?? Vitals(era: Era(UInt32.random(in: .min ... .max, using: &random)))
    vitalsAt = vitals.evictions == nil ? nil : now + Self.vitalsInterval
    if vitals.evictions == nil { vitalsRefused() }
    clock = facts?.clock.map { ($0, now) }
    // They were reported before any channel was subscribed to.
    (announcedVitals, hearing) = (vitals, nil)
  }

  /// Whether the writer's connection knows newer vitals than the messages are known to follow.
  var isHearingBehind: Bool { announcedVitals != vitals && hearing != vitals && session.phase == .connected }

  /// The subscriber's PING was answered, so every message that the server had sent before it has arrived.
  mutating func heard(_ vitals: Vitals) {
    if hearing == vitals { hearing = nil }
    if vitals.era == self.vitals.era { announcedVitals = vitals }
  }

  /// A replica remembers more than before. If all of it is too much, the oldest documents are forgotten.
  mutating func remembered(_ growth: Memory.Growth, by id: ReplicaID) {
    memories.bytes += growth.bytes
    for _ in 0..<max(0, growth.entries) { memories.order.append(id) }
    while memories.bytes > Memories.maximumBytes, let oldest = memories.order.popFirst() {
      memories.bytes -= members[oldest]?.replica.evidence.memory.forgetOldest() ?? 0
    }
  }

  /// A replica is gone, and its memory with it.
  mutating func forgetMemory(of replica: Replica) {
    memories.bytes -= replica.evidence.memory.bytes
    memories.departed += replica.evidence.memory.entries.count
    guard memories.departed > 4_096, 2 * memories.departed > memories.order.count else { return }
    var order = Queue<ReplicaID>()
    while let id = memories.order.popFirst() { if members[id] != nil { order.append(id) } }
    (memories.order, memories.departed) = (order, 0)
  }

  /// Asks for the vitals if a replica needs them, or if the last ones are old and there are requests to send.
  mutating func takeVitals(into work: inout Work, now: Instant) {
    for (grace, id) in waits.requested {
      switch grace {
      case .moment: waits.moments.append((now + Waits.moment, id))
      case .antiEntropy: waits.intervals.append((now + configuration.antiEntropy, id))
      }
    }
    waits.requested = []
    while let (at, id) = waits.moments.first, at <= now {
      _ = waits.moments.popFirst()
      apply(members[id]?.replica.graceEnded(.moment), to: id)
    }
    while let (at, id) = waits.intervals.first, at <= now {
      _ = waits.intervals.popFirst()
      apply(members[id]?.replica.graceEnded(.antiEntropy), to: id)
    }
    while let id = confirmations.popFirst() { check(id, .document, now: now) }
    let isDue = vitalsAt.map { $0 <= now } ?? false
    let isCommitting = commits.isWaiting || breaks.queue.first != nil
    let isAsked = readQueue.first != nil || isCommitting || checks.queue.first != nil
    guard !countQueue.isEmpty || isDue && isAsked else { return }
    vitalsAt = now + Self.vitalsInterval
    request(.vitals(countQueue), .vitals, on: .writer, into: &work, now: now)
    countQueue = []
  }

  private mutating func vitalsRefused() {
    guard !hasToldVitalsRefused else { return }
    hasToldVitalsRefused = true
    emit(.vitalsRefused)
  }

  /// The server has reported its vitals; `nil` if it no longer does.
  mutating func told(_ vitals: Vitals?, to ids: [ReplicaID], epoch: UInt64, now: Instant) {
    if let vitals {
      guard vitals.era == self.vitals.era else {
        // A new era has begun without a break of the connection, so everything has to be read again.
        return failed(epoch: epoch, error: .disconnected(reason: "another primary has taken over"), now: now)
      }
      self.vitals = vitals
      if isHearingBehind { wake(.subscriber) }
    } else {
      vitalsAt = nil
      self.vitals.evictions = nil
      vitalsRefused()
    }
    for id in ids { apply(members[id]?.replica.counted(vitals), to: id) }
  }
}
