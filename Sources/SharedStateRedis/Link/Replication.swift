/// Acknowledged changes that too few replicas of the server have, as far as is known, and when to ask the server.
///
/// The server handles no other request of a connection before it has answered a WAIT. So one question is under way for
/// each number of replicas, and concerns all changes that were acknowledged before it. After an answer that is not
/// enough, the next question follows only after nine times as long as this one took.
struct Replication: Sendable {
  typealias ReplicaID = LinkState.ReplicaID
  typealias WaiterID = LinkState.WaiterID

  /// What waits for replicas.
  enum Party: Hashable, Comparable, Sendable {
    /// A value whose key asks for them.
    case value(ReplicaID)
    /// A caller.
    case waiter(WaiterID)
  }

  /// A change that the server has acknowledged.
  struct Change: Sendable {
    let value: ReplicaID
    let revision: Revision
    /// Whether the present connection has written it.
    var isWritten: Bool
    /// Whether the `saveError` of the value says that too few replicas have it.
    fileprivate(set) var isReported = false
  }

  /// What is known of a change on the present connection.
  enum Standing: Equatable, Sendable {
    case stored
    /// It is not known yet whether the server has it, or it is being restored.
    case unknown
    /// The server has lost it, and it was given up.
    case lost
  }

  struct Question: Equatable, Sendable {
    let replicas: RedisReplicas
    /// Whether the connection has to write something first, because it has not written all of the changes.
    let needsMark: Bool
  }

  typealias Changes = [(party: Party, change: Change)]

  private var lanes: [Lane] = []

  /// Whether any value or caller has asked for replicas.
  var isUsed: Bool { !lanes.isEmpty }

  /// When to ask again; `nil` if there is nothing to ask, or an answer is awaited.
  var next: Instant? { lanes.lazy.compactMap(\.next).min() }

  /// The callers that wait, all or those for one value.
  func waiters(for value: ReplicaID? = nil) -> [WaiterID] {
    lanes.flatMap { lane in
      lane.changes.compactMap { party, change in
        if case .waiter(let waiter) = party, change.value == value ?? change.value { waiter } else { nil }
      }
    }.sorted()
  }

  /// The newest change of a value that too few replicas have.
  func change(of value: ReplicaID) -> Change? { lanes.lazy.compactMap { $0.changes[.value(value)] }.first }

  /// What a caller waits for, and what is missing; `nil`: it waits for no replica.
  func shortage(of waiter: WaiterID) -> (RedisReplicas, ReplicaShortage)? {
    lanes.first { $0.changes[.waiter(waiter)] != nil }.map { ($0.replicas, $0.shortage ?? ReplicaShortage.unknown) }
  }

  /// A value or a caller asks for replicas.
  mutating func use(_ replicas: RedisReplicas) {
    if replicas.isWanted, lane(of: replicas) == nil { lanes.append(Lane(replicas)) }
  }

  /// The server has acknowledged a change. Replicas were asked for before.
  mutating func add(_ party: Party, _ change: Change, for replicas: RedisReplicas) {
    if let lane = lane(of: replicas) { lanes[lane].add(party, change) }
  }

  /// The `saveError` of the value does not say any more that too few replicas have its change.
  mutating func withdrawReport(of value: ReplicaID) {
    for index in lanes.indices { lanes[index].changes[.value(value)]?.isReported = false }
  }

  mutating func forget(_ party: Party) {
    for index in lanes.indices { lanes[index].changes[party] = nil }
  }

  /// The connection is gone. Whatever its server's replicas have, the next server is asked.
  mutating func disconnect() {
    for index in lanes.indices { lanes[index].disconnect() }
  }

  /// Returns the questions to send now, and removes and returns the changes that are lost.
  mutating func ask(now: Instant, _ standing: (Change) -> Standing) -> (questions: [Question], lost: Changes) {
    var (questions, lost): ([Question], Changes) = ([], [])
    for index in lanes.indices where lanes[index].mayAsk(now: now) {
      lost += lanes[index].take { standing($1) == .lost }
      if let question = lanes[index].ask(now: now, standing) { questions.append(question) }
    }
    return (questions, lost)
  }

  /// The server has answered a question.
  ///
  /// - Parameter shortage: `nil`: enough replicas have the changes.
  /// - Returns: The changes with news: they are replicated, their value gets a `saveError`, or their caller an error.
  ///   Also whether the operator has to be informed.
  mutating func answered(
    _ replicas: RedisReplicas,
    _ shortage: ReplicaShortage?,
    now: Instant
  ) -> (news: Changes, isReported: Bool) {
    lane(of: replicas).map { lanes[$0].answered(shortage, now: now) } ?? ([], false)
  }

  private func lane(of replicas: RedisReplicas) -> Int? { lanes.firstIndex { $0.replicas == replicas } }
}

extension Replication {
  /// The changes that wait for one number of replicas.
  private struct Lane: Sendable {
    /// How many times as long as a question took the next one waits.
    static let rest = 9
    static let longestPause = Duration.seconds(1)
    static let pauseAfterRefusal = Duration.seconds(60)

    let replicas: RedisReplicas
    var changes: [Party: Change] = [:]
    /// The changes that the question without an answer concerns.
    private var asked: (at: Instant, changes: [Party: Change])?
    private var pausedUntil: Instant?
    /// Why the last answer was not enough.
    private(set) var shortage: ReplicaShortage?
    private var isReported = false

    init(_ replicas: RedisReplicas) { self.replicas = replicas }

    var next: Instant? { asked == nil && !changes.isEmpty ? pausedUntil : nil }

    func mayAsk(now: Instant) -> Bool { asked == nil && !changes.isEmpty && pausedUntil.map { $0 <= now } ?? true }

    mutating func add(_ party: Party, _ change: Change) {
      var change = change
      change.isReported = changes[party]?.isReported ?? false
      changes[party] = change
      // A refusal may be over. Another caller finds out.
      if case .waiter = party, case .refused = shortage { pausedUntil = nil }
    }

    mutating func disconnect() {
      (asked, pausedUntil, shortage, isReported) = (nil, nil, nil, false)
      for party in changes.keys { changes[party]?.isWritten = false }
    }

    mutating func ask(now: Instant, _ standing: (Change) -> Standing) -> Question? {
      let asked = changes.filter { standing($0.value) == .stored }
      // Whatever makes one of them known wakes the link.
      guard !asked.isEmpty else {
        pausedUntil = nil
        return nil
      }
      self.asked = (now, asked)
      return Question(replicas: replicas, needsMark: asked.values.contains { !$0.isWritten })
    }

    mutating func answered(_ shortage: ReplicaShortage?, now: Instant) -> (news: Changes, isReported: Bool) {
      guard let asked = asked.take() else { return ([], false) }
      let wasShort = self.shortage != nil
      (self.shortage, pausedUntil) = (shortage, nil)
      switch shortage {
      case nil:
        isReported = false
        // A value may have another change by now.
        return (take { asked.changes[$0]?.revision == $1.revision }, false)
      case .refused:
        pausedUntil = now + Self.pauseAfterRefusal
        let callers = take { party, _ in if case .waiter = party { asked.changes[party] != nil } else { false } }
        return (report(asked.changes) + callers, noteReport())
      default:
        pausedUntil = now + min(max(now - asked.at, ReplicaWait.timeout) * Self.rest, Self.longestPause)
        // A second mark would be another write that the replicas do not have yet.
        for case let (party, change) in asked.changes
        where shortage != .unknown && changes[party]?.revision == change.revision { changes[party]?.isWritten = true }
        // A replica that is late for once is no news.
        return wasShort ? (report(asked.changes), noteReport()) : ([], false)
      }
    }

    /// Removes and returns these changes, in order.
    mutating func take(where isTaken: (Party, Change) -> Bool) -> Changes {
      let taken = changes.filter { isTaken($0.key, $0.value) }.sorted { $0.key < $1.key }
      for (party, _) in taken { changes[party] = nil }
      return taken.map { ($0.key, $0.value) }
    }

    /// Marks the values among these changes as reported, and returns those that were not.
    private mutating func report(_ asked: [Party: Change]) -> Changes {
      asked.keys.sorted().compactMap { party in
        guard case .value = party, let change = changes[party], !change.isReported else { return nil }
        changes[party]?.isReported = true
        return (party, change)
      }
    }

    private mutating func noteReport() -> Bool {
      defer { isReported = true }
      return !isReported
    }
  }
}
