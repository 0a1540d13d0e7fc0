import SharedState
import Synchronization

/// A list of events in order, which any thread may add to.
final class Journal<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var waiters: [Waiter] = []
  }

  private struct Waiter {
    let isSatisfied: @Sendable ([Element]) -> Bool
    let continuation: CancellableContinuation<[Element]>
  }

  private let state = Mutex(State())

  var elements: [Element] { state.withLock { $0.elements } }

  func append(_ element: Element) {
    let (waiters, elements) = state.withLock { state in
      state.elements.append(element)
      return (state.waiters, state.elements)
    }
    for waiter in waiters where waiter.isSatisfied(elements) {
      waiter.continuation.resume(with: .success(elements))
    }
  }

  /// Waits until the elements satisfy a condition, and returns them.
  ///
  /// - Throws: `CancellationError`.
  @discardableResult
  func wait(until isSatisfied: @escaping @Sendable ([Element]) -> Bool) async throws -> [Element] {
    try await withCancellableContinuation { continuation in
      let elements = self.state.withLock { state in
        state.waiters.append(Waiter(isSatisfied: isSatisfied, continuation: continuation))
        return state.elements
      }
      if isSatisfied(elements) { continuation.resume(with: .success(elements)) }
    }
  }
}
