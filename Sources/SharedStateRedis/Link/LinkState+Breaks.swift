import SharedState

/// Commits at which connections break. None of them may keep the others from being stored.
///
/// A server or a proxy may end the connection whenever it receives one certain value. A service that resends all
/// commits at once would never get past that value. So a commit that was under way at two breaks in a row is sent
/// alone, after all others. If the connection breaks at it time and again, it is the cause: that is reported, and the
/// commit is sent again after growing pauses. If it is answered, it was most likely under way by chance.
extension LinkState {
  struct Breaks: Sendable {
    struct Culprit: Sendable {
      /// How often the connection broke while nothing else was under way.
      var count = 0
      var brokeAt: Instant
      /// When it is sent again; `nil` if that is being done.
      var retryAt: Instant?
    }

    /// The number of breaks in a row after which a commit is sent alone.
    static let suspectAfter = 2
    /// The number of breaks in a row after which a commit or a read that was alone is the cause. An operator who restarts
    /// a server twice is none.
    static let culpritAfter = 4
    /// How long the other commits and the suspects may keep each other waiting in turn.
    static let turn = Duration.milliseconds(100)
    /// The longest pause.
    static let longestPause = Duration.seconds(60)
    /// The error for the waiters of such a value.
    static let error = RedisSharedStateError.protocolViolation(
      reason: "it closes the connection each time this change is sent"
    )

    /// The error of a value whose document breaks the connection.
    static let readError = RedisSharedStateError.protocolViolation(
      reason: "it closes the connection each time this value is read"
    )

    /// For each value, at how many breaks in a row a commit of it was under way.
    private var counts: [ReplicaID: Int] = [:]
    private(set) var culprits: [ReplicaID: Culprit] = [:]
    /// The values at whose commits the last connections broke, and that have had no answer since.
    private var owed: Set<ReplicaID> = []
    /// The suspects to be sent alone.
    var queue = Queue<ReplicaID>()
    /// The suspect that was sent alone and is not answered.
    private(set) var alone: ReplicaID?
    /// When the suspects' turn comes at the latest, and when the first of them was sent in it.
    private var turnAt: Instant?
    private var turnBegan: Instant?

    /// Whether there is no suspect and no commit to watch.
    var isEmpty: Bool { counts.isEmpty && alone == nil }
    /// Whether every owed answer has arrived. A commit that is pausing does not count.
    var isDone: Bool { owed.isEmpty }
    var isPausing: Bool { culprits.values.contains { $0.retryAt != nil } }
    var nextRetry: Instant? { culprits.isEmpty ? nil : culprits.values.compactMap(\.retryAt).min() }

    func isSuspect(_ id: ReplicaID) -> Bool { (counts[id] ?? 0) >= Self.suspectAfter }

    func isPausing(_ id: ReplicaID) -> Bool { culprits[id]?.retryAt != nil }

    /// The connection broke while these commits were under way.
    ///
    /// - Parameter pause: The first pause of a culprit.
    /// - Returns: The culprit, if there is one.
    mutating func broke(at ids: [ReplicaID], pause: Duration, jitter: Double, now: Instant) -> ReplicaID? {
      forgetConnection()
      for id in ids { counts[id, default: 0] += 1 }
      owed.formUnion(ids)
      guard ids.count == 1, let id = ids.first, (counts[id] ?? 0) >= Self.culpritAfter else { return nil }
      owed.remove(id)
      let count = (culprits[id]?.count ?? 0) + 1
      let pause = min(pause * (1 << min(count - 1, 20)), Self.longestPause) * (0.5 + jitter / 2)
      culprits[id] = Culprit(count: count, brokeAt: now, retryAt: now + pause)
      return id
    }

    /// A commit was sent.
    mutating func sent(_ id: ReplicaID, now: Instant) {
      guard isSuspect(id) else { return }
      alone = id
      turnBegan = turnBegan ?? now
    }

    /// Forgets a value: its commit was answered, or its replica is gone.
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

    /// Forgets the order of sending on a closed connection.
    mutating func forgetConnection() { (queue, alone, turnAt, turnBegan) = (Queue(), nil, nil, nil) }

    /// Whether a commit that is ready has to wait: a suspect for the commits under way, and any commit for a suspect
    /// that is sent alone.
    func holdsBack(_ id: ReplicaID, commitsUnderWay: Int) -> Bool {
      alone != nil || commitsUnderWay > 0 && isSuspect(id)
    }

    /// Whether it is the suspects' turn, in which no other commit is sent. Turns alternate, so that suspects do not
    /// wait for ever.
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

    /// Takes the values whose pause is over.
    mutating func takeRetries(now: Instant) -> [ReplicaID] {
      guard let next = nextRetry, next <= now else { return [] }
      let due = culprits.filter { $0.value.retryAt.map { $0 <= now } ?? false }.keys.sorted()
      for id in due { culprits[id]?.retryAt = nil }
      return due
    }

    /// The program asks for a value: shortens its pause, but not below the longest pause between attempts to connect.
    mutating func hurry(_ id: ReplicaID, pause: Duration) -> Bool {
      guard let culprit = culprits[id], let retryAt = culprit.retryAt, culprit.brokeAt + pause < retryAt else {
        return false
      }
      culprits[id]?.retryAt = culprit.brokeAt + pause
      return true
    }
  }

  /// Notes which commits were under way when the connection broke, before they are forgotten.
  ///
  /// - Returns: The value whose commit broke it, if that is known.
  mutating func noteBreak(_ error: RedisSharedStateError, now: Instant) -> ReplicaID? {
    // The server has answered that it is not a primary, so no commit broke the connection.
    guard error != .notPrimary else {
      breaks.forgetConnection()
      return nil
    }
    var ids: [ReplicaID] = []
    for case .commit(let id, _, _) in connections.unanswered(on: .writer) where members[id] != nil {
      ids.append(id)
    }
    let jitter = Double.random(in: 0..<1, using: &random)
    return breaks.broke(at: ids, pause: configuration.backoff.base * 10, jitter: jitter, now: now)
  }

  /// The server has answered a request as expected. The next failure counts as the first one again once the commits and
  /// reads at which the connection broke are answered as well.
  mutating func served(epoch: UInt64) {
    connections.served()
    if breaks.isDone, reads.isDone { session.succeeded(epoch: epoch) }
  }

  /// Queues a replica that has something to commit.
  mutating func queueCommit(of id: ReplicaID) {
    // When the pause is over, the replica asks to commit again.
    guard !(members[id]?.isCommitQueued ?? true), !isCommitPausing(id), !isSent(atOnce: id) else { return }
    members[id]?.isCommitQueued = true
    if breaks.isSuspect(id) { breaks.queue.append(id) } else { commits.append(id) }
    wake(.writer)
  }

  /// Sends the next suspect. Returns whether there is one.
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
