import SharedState
import Synchronization

/// Waits for many outcomes, which may come before anybody knows how many there are.
final class Countdown: Sendable {
  private struct State {
    /// Below zero for outcomes that came before they were counted.
    var left = 0
    var firstError: RedisSharedStateError?
    var givenUp: Set<Name> = []
    var isOver = false
    var waiter: CancellableContinuation<Void>?

    var outcome: Result<Void, any Error>? {
      guard isOver || left == 0 else { return nil }
      if let firstError { return .failure(firstError) }
      return .success(())
    }
  }

  private let state = Mutex(State())

  /// The values of which the outcome is that a change was given up.
  var givenUp: Set<Name> { state.withLock { $0.givenUp } }

  /// Returns once there were so many outcomes. Call it once.
  ///
  /// - Throws: The first error but for ``RedisSharedStateError/Code/changesGivenUp``, once there are all outcomes; what ``end(with:)`` was given; `CancellationError`.
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
    update { state in
      state.left -= 1
      guard case .failure(let error) = result else { return }
      if case .changesGivenUp(let names, _) = error.cause {
        state.givenUp.formUnion(names.map { Name($0) })
      } else {
        state.firstError = state.firstError ?? error
      }
    }
  }

  /// Gives up waiting.
  func end(with error: RedisSharedStateError) {
    update { state in
      state.firstError = error
      state.isOver = true
    }
  }

  private func update(_ change: (inout State) -> Void) {
    let (waiter, outcome) = state.withLock { state in
      change(&state)
      return (state.waiter, state.outcome)
    }
    if let waiter, let outcome { waiter.resume(with: outcome) }
  }
}
