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
}
