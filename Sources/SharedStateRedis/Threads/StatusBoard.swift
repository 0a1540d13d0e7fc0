import Synchronization

/// Publishes the status of a store, to callers that read it and to callers that wait for changes.
final class StatusBoard: Sendable {
  private struct State {
    var status: RedisStore.Status
    /// The number of the newest update.
    var number: UInt64 = 0
    /// Watchers are only told that the status has changed, and read it here, so that none ends with an old one.
    var watchers: [UInt64: AsyncStream<Void>.Continuation] = [:]
    var nextWatcher: UInt64 = 0
  }

  private let isInProcess: Bool
  private let state: Mutex<State>

  init(isInProcess: Bool) {
    self.isInProcess = isInProcess
    state = Mutex(State(status: isInProcess ? .inProcess : .connecting))
  }

  var status: RedisStore.Status {
    state.withLock { $0.status }
  }

  /// The present status, then every change. Slow readers may miss intermediate ones, never the last.
  var statuses: AsyncMapSequence<AsyncStream<Void>, RedisStore.Status> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let (id, status) = state.withLock { state in
      state.nextWatcher += 1
      state.watchers[state.nextWatcher] = continuation
      return (state.nextWatcher, state.status)
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.watchers.removeValue(forKey: id) }
    }
    continuation.yield()
    if status == .stopped { continuation.finish() }
    return stream.map { _ in self.status }
  }

  /// Publishes the status of a session, unless a newer one is known.
  func update(_ session: Session, number: UInt64) {
    let status: RedisStore.Status =
      switch session.phase {
      case .stopped: .stopped
      case .connected: isInProcess ? .inProcess : .connected
      case .idle, .connecting, .backingOff:
        if let error = session.lastError {
          .reconnecting(attempt: session.failures, error: error)
        } else {
          isInProcess ? .inProcess : .connecting
        }
      }
    let watchers = state.withLock { state -> [AsyncStream<Void>.Continuation] in
      guard number > state.number, state.status != .stopped else { return [] }
      state.number = number
      guard state.status != status else { return [] }
      state.status = status
      return Array(state.watchers.values)
    }
    for watcher in watchers {
      watcher.yield()
      if status == .stopped { watcher.finish() }
    }
  }
}
