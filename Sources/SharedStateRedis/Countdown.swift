import SharedState
import Synchronization

/// Waits for many outcomes, which may come before anybody knows how many there are; the first error is the outcome.
final class Countdown: Sendable {
  private struct State {
    /// Below zero for outcomes that came before they were counted.
    var left = 0
    var error: RedisSharedStateError?
    var waiter: CancellableContinuation<Void>?

    var outcome: Result<Void, any Error>? {
      if let error { return .failure(error) }
      return left == 0 ? .success(()) : nil
    }
  }

  private let state = Mutex(State())

  /// Returns once there were so many outcomes. Call it once.
  ///
  /// - Throws: The first error, or `CancellationError`.
  func wait(for count: Int) async throws {
    try await withCancellableContinuation { continuation in
      update { state in
        state.left += count
        state.waiter = continuation
      }
    }
  }

  /// One outcome.
  func finishOne(_ result: Result<Void, RedisSharedStateError>) {
    switch result {
    case .success: update { $0.left -= 1 }
    case .failure(let error): fail(with: error)
    }
  }

  /// Gives up waiting.
  func fail(with error: RedisSharedStateError) {
    update { $0.error = $0.error ?? error }
  }

  private func update(_ change: (inout State) -> Void) {
    let (waiter, outcome) = state.withLock { state in
      change(&state)
      return (state.waiter, state.outcome)
    }
    if let waiter, let outcome { waiter.resume(with: outcome) }
  }
}
