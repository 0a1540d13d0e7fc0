import Synchronization

/// What happened, in order, on whatever thread; a test waits for it.
final class Recorder<Element: Sendable>: Sendable {
  private struct Waiter {
    let isSatisfied: @Sendable ([Element]) -> Bool
    let continuation: CheckedContinuation<[Element], Never>
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
    for waiter in resumed { waiter.continuation.resume(returning: elements) }
  }

  /// Waits until the elements are as wanted; the time limit of the test is the deadline.
  @discardableResult
  func wait(until isSatisfied: @escaping @Sendable ([Element]) -> Bool) async -> [Element] {
    await withCheckedContinuation { continuation in
      let elements: [Element]? = state.withLock { state in
        if isSatisfied(state.elements) { return state.elements }
        state.waiters.append(Waiter(isSatisfied: isSatisfied, continuation: continuation))
        return nil
      }
      if let elements { continuation.resume(returning: elements) }
    }
  }

  @discardableResult
  func wait(count: Int) async -> [Element] {
    await wait { $0.count >= count }
  }
}
