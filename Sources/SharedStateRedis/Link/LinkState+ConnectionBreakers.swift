import DequeModule
import SharedState

/// Requests at which connections break.
extension LinkState {
  /// Notes which requests were under way when the connection broke, before they are forgotten.
  ///
  /// - Returns: The values whose requests broke it, if that is known.
  mutating func noteBreak(_ error: RedisSharedStateError) -> [(id: ReplicaID, kind: ConnectionBreakers.Kind)] {
    // The server has answered that it cannot be used, or that another one has taken over, so no request broke the
    // connection.
    guard error != .moved, !error.concernsConnection, let online else { return [] }
    var (commits, reads): ([ReplicaID], [ReplicaID]) = ([], [])
    for request in online.exchanges[.writer].unanswered {
      switch request {
      case .commit(let id, _, _, _) where members[id] != nil: commits.append(id)
      case .read(let documents, _, _) where error.code == .disconnected:
        reads += documents.map(\.id).filter { members[$0] != nil }
      default: break
      }
    }
    let runID = online.facts[.writer].runID
    let commit = breaks.broke(at: commits, .commit, runID: runID)
    let read = breaks.broke(at: reads, .read, isAlone: commits.isEmpty, runID: runID)
    return (commit.map { [($0, .commit)] } ?? []) + (read.map { [($0, .read)] } ?? [])
  }

  /// The server has answered a request as expected. The next failure counts as the first one again once the requests at
  /// which the connection broke are answered as well.
  mutating func served(epoch: UInt64) {
    online?.hasServed = true
    if breaks.isDone { session.succeeded(epoch: epoch) }
  }

  /// Whether a commit that is ready has to wait: a suspect for the commits under way, and any commit for a suspect that
  /// is sent alone.
  func holdsBack(_ id: ReplicaID) -> Bool {
    if online?.suspects.alone != nil { return true }
    return breaks.isSuspect(id, .commit) && online?.commits.underWay ?? 0 > 0
  }

  /// Sends the next suspect. Returns whether there is one.
  mutating func takeSuspect(into work: inout Work, now: Instant) -> Bool {
    while work.count < Self.commitsInOneBatch, let id = online?.suspects.queue.popFirst() {
      members[id]?.online?.isCommitQueued = false
      if let request = commitRequest(for: id, now: now) {
        work.requests.append(request)
        return true
      }
      if let encoding = beginEncoding(of: id) { work.encodings.append((id, encoding)) }
    }
    return false
  }
}
