import SharedState

/// States that wait for somebody, in their order.
///
/// When there are more than ``capacity``, those in between are skipped; the newest never is.
package struct StateQueue<State> {
  private var waiting: [State] = []
  private var last: State?

  package static var capacity: Int { 256 }

  package init() {}

  package var isEmpty: Bool { waiting.isEmpty }

  /// Adds a state, unless it is equal to the one before.
  ///
  /// - Parameter isNews: Whether it is added even so, because of a share in it.
  /// - Returns: Whether it was added.
  package mutating func append(_ state: State, isNews: Bool) -> Bool {
    if !isNews, let last, Equality.areEqual(last, state) == true { return false }
    last = state
    if waiting.count >= Self.capacity { waiting.removeLast() }
    waiting.append(state)
    return true
  }

  package mutating func take() -> State? {
    waiting.isEmpty ? nil : waiting.removeFirst()
  }
}
