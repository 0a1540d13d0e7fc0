import SharedState
import SharedStateTesting
import Synchronization
import Testing

/// Records events in order, from any thread. A test can wait for them.
final class Recorder<Element: Sendable>: Sendable {
  private struct Waiter {
    let isSatisfied: @Sendable ([Element]) -> Bool
    let continuation: CancellableContinuation<[Element]>
  }

  private struct State {
    var elements: [Element] = []
    var waiters: [Waiter] = []
  }

  private let state = Mutex(State())

  var elements: [Element] { state.withLock { $0.elements } }

  var count: Int { state.withLock { $0.elements.count } }

  func append(_ element: Element) {
    let (resumed, elements) = state.withLock { state in
      state.elements.append(element)
      let elements = state.elements
      let resumed = state.waiters.filter { $0.isSatisfied(elements) }
      state.waiters.removeAll { $0.isSatisfied(elements) }
      return (resumed, elements)
    }
    for waiter in resumed { waiter.continuation.resume(with: .success(elements)) }
  }

  /// Waits until the elements meet a condition, and returns them; after a timeout, the present ones.
  @discardableResult
  func wait(
    _ what: String = "the elements that are wanted",
    sourceLocation: SourceLocation = #_sourceLocation,
    until isSatisfied: @escaping @Sendable ([Element]) -> Bool
  ) async -> [Element] {
    do {
      return try await inTime(what, found: { "\(self.elements)" }, sourceLocation: sourceLocation) {
        try await withCancellableContinuation { continuation in
          let elements: [Element]? = self.state.withLock { state in
            if isSatisfied(state.elements) { return state.elements }
            state.waiters.append(Waiter(isSatisfied: isSatisfied, continuation: continuation))
            return nil
          }
          if let elements { continuation.resume(with: .success(elements)) }
        }
      }
    } catch {
      // Not recorded yet: a failure by timeout is, a cancellation is not.
      if Task.isCancelled { Issue.record("\(error)", sourceLocation: sourceLocation) }
      return elements
    }
  }

  @discardableResult
  func wait(count: Int, sourceLocation: SourceLocation = #_sourceLocation) async -> [Element] {
    await wait("\(count) elements", sourceLocation: sourceLocation) { $0.count >= count }
  }
}
