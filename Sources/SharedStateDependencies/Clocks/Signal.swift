import Synchronization

/// Lets one task wait for an event that happens once.
final class Signal: Sendable {
  private enum State {
    case initial
    case awaited(CheckedContinuation<Void, any Error>)
    case sent(Result<Void, any Error>)
  }

  private let state = Mutex(State.initial)

  /// Reports that the event has happened, or never will. Only the first call counts.
  func send(_ result: Result<Void, any Error> = .success(())) {
    let continuation: CheckedContinuation<Void, any Error>? = state.withLock { state in
      switch state {
      case .initial:
        state = .sent(result)
        return nil
      case .awaited(let continuation):
        state = .sent(result)
        return continuation
      case .sent:
        return nil
      }
    }
    continuation?.resume(with: result)
  }

  /// Waits for the event. Call it once.
  /// - Parameter onCancel: Called when the task is cancelled.
  /// - Throws: The error that was sent, or `CancellationError`.
  func wait(onCancel: @escaping @Sendable () -> Void = {}) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let sent: Result<Void, any Error>? = state.withLock { state in
          if case .sent(let result) = state { return result }
          state = .awaited(continuation)
          return nil
        }
        if let sent { continuation.resume(with: sent) }
      }
    } onCancel: {
      send(.failure(CancellationError()))
      onCancel()
    }
  }
}
