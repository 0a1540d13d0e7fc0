import SharedState

/// Commits at which connections break. None of them may keep the others from being stored.
///
/// A server or a proxy may end the connection whenever it receives one certain value. A service that resends all
/// commits at once would never get past that value. So a commit that was under way at two breaks in a row is sent
/// alone, after all others. If the connection breaks at it time and again, it is the cause: that is reported, and the
/// commit is sent again after growing pauses. If it is answered, it was most likely under way by chance.
extension LinkState {
  struct Breaks: Sendable {
    /// The number of breaks in a row after which a commit is sent alone.
    static let suspectAfter = 2
    /// The number of breaks in a row after which a commit or a read that was alone is the cause. An operator who restarts
    /// a server twice is none.
    static let culpritAfter = 4
    /// How long the other commits and the suspects may keep each other waiting in turn.
    static let turn = Duration.milliseconds(100)
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

    func isSuspect(_ id: ReplicaID) -> Bool { (counts[id] ?? 0) >= Self.suspectAfter }

    /// The connection broke while these commits were under way.
    ///
    /// - Returns: The culprit, if there is one.
    mutating func broke(at ids: [ReplicaID]) -> ReplicaID? {
      forgetConnection()
      for id in ids { counts[id, default: 0] += 1 }
      owed.formUnion(ids)
      guard ids.count == 1, let id = ids.first, (counts[id] ?? 0) >= Self.culpritAfter else { return nil }
      owed.remove(id)
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
  }

  /// Notes which commits were under way when the connection broke, before they are forgotten.
  ///
  /// - Returns: The value whose commit broke it, if that is known.
  mutating func noteBreak(_ error: RedisSharedStateError) -> ReplicaID? {
    // The server has answered that it is not a primary, so no commit broke the connection.
    guard error != .notPrimary else {
      breaks.forgetConnection()
      return nil
    }
    var ids: [ReplicaID] = []
    for case .commit(let id, _, _) in connections.unanswered(on: .writer) where members[id] != nil {
      ids.append(id)
    }
    return breaks.broke(at: ids)
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
    guard !(members[id]?.isCommitQueued ?? true), !isCommitPausing(id), !takeAtOnce(id) else { return }
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
