import Dispatch
package import SharedState
import SharedStateDependencies
import Synchronization
import Testing

/// A closure of `withLock` that runs on a thread of its own, and holds the value until a test ends it.
package final class HeldLock: Sendable {
  private final class State: Sendable {
    let hasBegun = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let hasReturned = Atomic(false)
  }

  // The thread refers to the state and not to this object, because releasing this object ends the closure.
  private let state = State()

  /// Returns once the closure runs.
  ///
  /// - Parameter body: Runs when the closure may end. When it throws, the value does not change.
  package init<Value: Sendable>(
    _ share: Shared<Value>,
    _ body: @escaping @Sendable (inout Value) throws -> Void = { _ in }
  ) {
    let state = state
    let begin = { @Sendable in
      try? share.withLock { value in
        state.hasBegun.signal()
        #expect(state.mayEnd.waitInTime(), "Call end(), or release the lock.")
        try body(&value)
      }
      state.hasReturned.store(true, ordering: .releasing)
    }
    #expect(throws: Never.self, "The system starts no thread.") { try ThreadStarter.system.start("held-lock", begin) }
    #expect(state.hasBegun.waitInTime(), "The closure does not begin.")
  }

  /// Ends the closure, so that a failed test leaves no thread waiting.
  deinit { end() }

  /// Lets the closure end.
  package func end() { state.mayEnd.signal() }

  /// Whether `withLock` has returned.
  package var hasReturned: Bool { state.hasReturned.load(ordering: .acquiring) }
}
