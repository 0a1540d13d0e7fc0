import Dispatch
import Foundation
package import SharedState
import Synchronization
import Testing

/// A closure of `withLock` that has its value until a test says otherwise, on a thread of its own.
package final class HeldLock: Sendable {
  private final class State: Sendable {
    let hasBegun = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let hasReturned = Atomic(false)
  }

  // The thread has the state and not the whole, whose end is the closure's end.
  private let state = State()

  /// Returns once the closure runs.
  ///
  /// - Parameter body: What the closure does when it may end. When it throws, the value stays as it is.
  package init<Value: Sendable>(
    _ share: Shared<Value>,
    _ body: @escaping @Sendable (inout Value) throws -> Void = { _ in }
  ) {
    let state = state
    let thread = Thread {
      try? share.withLock { value in
        state.hasBegun.signal()
        #expect(state.mayEnd.waitInTime(), "Call end(), or let go of the lock.")
        try body(&value)
      }
      state.hasReturned.store(true, ordering: .releasing)
    }
    thread.start()
    #expect(state.hasBegun.waitInTime(), "The closure does not begin.")
  }

  /// A test that fails leaves nobody waiting.
  deinit { end() }

  /// Lets the closure end.
  package func end() { state.mayEnd.signal() }

  /// Whether `withLock` has returned.
  package var hasReturned: Bool { state.hasReturned.load(ordering: .acquiring) }
}
