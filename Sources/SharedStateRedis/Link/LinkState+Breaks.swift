import SharedState

/// Commits at which connections break: none of them keeps any other from being stored.
///
/// A server, or a proxy, may end the connection whenever it is sent one certain value. Who sends everything again at
/// once never gets further than that. So a commit that was under way at two breaks in a row is sent alone, behind all
/// others. When the connection breaks at it then, it is the reason: that is told, and it is sent again after growing
/// pauses. It was under way by chance, most likely, when it is answered.
extension LinkState {
  struct Breaks: Sendable {
    struct Culprit: Sendable {
      /// How often the connection broke while nothing else was under way.
      var count = 0
      var brokeAt: Instant
      /// When it is sent again; `nil`: that is being done.
      var retryAt: Instant?
    }

    /// From so many breaks in a row on, a commit is sent alone.
    static let suspectAfter = 2
    /// How long the others, and then the suspects, may keep each other waiting.
    static let turn = Duration.milliseconds(100)
    /// The longest pause.
    static let longestPause = Duration.seconds(60)
    /// What those are told who wait for such a value.
    static let error = RedisSharedStateError.protocolViolation(
      reason: "it ends the connection each time that this change is sent"
    )

    /// At how many breaks in a row a commit of each value was under way.
    private var counts: [ReplicaID: Int] = [:]
    private(set) var culprits: [ReplicaID: Culprit] = [:]
    /// What the last connections broke at, and that no answer has come to since.
    private var owed: Set<ReplicaID> = []
    /// What is to be sent alone.
    var queue = Queue<ReplicaID>()
    /// The one that was.
    private(set) var alone: ReplicaID?
    /// When it is the suspects' turn, if the others are not done before, and when the first of them was sent then.
    private var turnAt: Instant?
    private var turnBegan: Instant?

    /// Whether there is nothing to look after.
    var isEmpty: Bool { counts.isEmpty && alone == nil }
    /// Whether all of it was answered, or is not tried for the moment.
    var isDone: Bool { owed.isEmpty }
    var isPausing: Bool { culprits.values.contains { $0.retryAt != nil } }
    var nextRetry: Instant? { culprits.isEmpty ? nil : culprits.values.compactMap(\.retryAt).min() }

    func isSuspect(_ id: ReplicaID) -> Bool { (counts[id] ?? 0) >= Self.suspectAfter }

    func isPausing(_ id: ReplicaID) -> Bool { culprits[id]?.retryAt != nil }

    /// The connection broke while these commits were under way.
    ///
    /// - Parameter pause: The first one.
    /// - Returns: The one that is the reason.
    mutating func broke(at ids: [ReplicaID], pause: Duration, jitter: Double, now: Instant) -> ReplicaID? {
      forgetConnection()
      for id in ids { counts[id, default: 0] += 1 }
      owed.formUnion(ids)
      guard ids.count == 1, let id = ids.first, isSuspect(id) else { return nil }
      owed.remove(id)
      let count = (culprits[id]?.count ?? 0) + 1
      let pause = min(pause * (1 << min(count - 1, 20)), Self.longestPause) * (0.5 + jitter / 2)
      culprits[id] = Culprit(count: count, brokeAt: now, retryAt: now + pause)
      return id
    }

    /// The commit is sent.
    mutating func sent(_ id: ReplicaID, now: Instant) {
      guard isSuspect(id) else { return }
      alone = id
      turnBegan = turnBegan ?? now
    }

    /// The server has answered a commit, or nobody wants it any more.
    mutating func forget(_ id: ReplicaID) {
      guard !isEmpty else { return }
      counts[id] = nil
      culprits[id] = nil
      owed.remove(id)
    }

    mutating func answered(_ id: ReplicaID) {
      if alone == id { alone = nil }
      forget(id)
    }

    /// The connection is closed, and nobody misses it.
    mutating func forgetConnection() { (queue, alone, turnAt, turnBegan) = (Queue(), nil, nil, nil) }

    /// Whether a commit that is ready has to wait: for those under way, or for the one that has to be alone.
    func holdsBack(_ id: ReplicaID, commitsUnderWay: Int) -> Bool {
      alone != nil || commitsUnderWay > 0 && isSuspect(id)
    }

    /// Whether nothing else is sent, so that suspects are not kept waiting for ever. By turns.
    mutating func isTurn(at now: Instant) -> Bool {
      guard queue.first != nil else {
        (turnAt, turnBegan) = (nil, nil)
        return false
      }
      guard let at = turnAt, turnBegan.map({ now < max(at, $0) + Self.turn }) ?? true else {
        (turnAt, turnBegan) = (now + Self.turn, nil)
        return false
      }
      return at <= now
    }

    /// Those whose pause is over.
    mutating func takeRetries(now: Instant) -> [ReplicaID] {
      guard let next = nextRetry, next <= now else { return [] }
      let due = culprits.filter { $0.value.retryAt.map { $0 <= now } ?? false }.keys.sorted()
      for id in due { culprits[id]?.retryAt = nil }
      return due
    }

    /// Somebody asks for it. Not more often than a connection that cannot be opened is tried.
    mutating func hurry(_ id: ReplicaID, pause: Duration) -> Bool {
      guard let culprit = culprits[id], let retryAt = culprit.retryAt, culprit.brokeAt + pause < retryAt else {
        return false
      }
      culprits[id]?.retryAt = culprit.brokeAt + pause
      return true
    }
  }

  /// Notes what was under way when the connection broke, before that is forgotten.
  ///
  /// - Returns: The value that is the reason.
  mutating func noteBreak(_ error: RedisSharedStateError, now: Instant) -> ReplicaID? {
    // That it is no primary it has answered.
    guard error != .notPrimary else {
      breaks.forgetConnection()
      return nil
    }
    var ids: [ReplicaID] = []
    for case .commit(let id, _, _)? in exchanges[.writer].map({ Array($0.unanswered) }) ?? [] where members[id] != nil {
      ids.append(id)
    }
    let jitter = Double.random(in: 0..<1, using: &random)
    return breaks.broke(at: ids, pause: configuration.backoff.base * 10, jitter: jitter, now: now)
  }

  /// The server has done what it was asked for. The next failure is the first one again once it has also done what the
  /// connection broke at before.
  mutating func served(epoch: UInt64) {
    hasServed = true
    if breaks.isDone { session.succeeded(epoch: epoch) }
  }

  /// There is something to commit.
  mutating func queueCommit(of id: ReplicaID) {
    // What there is to commit is asked for again when the pause is over.
    guard !(members[id]?.isCommitQueued ?? true), !isCommitPausing(id) else { return }
    members[id]?.isCommitQueued = true
    if breaks.isSuspect(id) { breaks.queue.append(id) } else { commitQueue.append(id) }
    wake(.writer)
  }

  /// Sends the next one that has to be alone; whether there is one.
  mutating func takeSuspect(into work: inout Work, now: Instant) -> Bool {
    while work.count < Self.commitsInOneBatch, let id = breaks.queue.popFirst() {
      members[id]?.isCommitQueued = false
      if let request = commitRequest(for: id, now: now) {
        work.requests.append(request)
        return true
      }
      if let encoding = beginEncoding(of: id) { work.encodings.append((id, encoding)) }
    }
    return false
  }
}
