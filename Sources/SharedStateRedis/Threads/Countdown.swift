import SharedState
import Synchronization

/// Waits for many outcomes, some of which may come before their number is known.
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

  /// The values whose outcome was that a change was given up.
  var givenUp: Set<Name> { state.withLock { $0.givenUp } }

  /// Returns after this number of outcomes. Call it once.
  ///
  /// - Throws: After all outcomes, the first error other than ``RedisSharedStateError/Code/changesGivenUp``; the error
  ///   that was passed to ``end(with:)``; `CancellationError`.
  func wait(for count: Int) async throws {
    try await withCancellableContinuation { continuation in
      update { state in
        state.left += count
        state.waiter = continuation
      }
    }
  }

  /// Takes one outcome.
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

  /// Ends the wait with an error.
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
