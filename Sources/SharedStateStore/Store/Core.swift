/// What a store is made of: a state of its own, or a part of another core's.
@usableFromInline
package class Core<State: Sendable, Action: Sendable>: @unchecked Sendable {
  // `@unchecked Sendable` is right because this class has no properties, and each subclass says why it is.

  @usableFromInline
  package init() {}

  /// What is held, for messages.
  package var name: String { unimplemented() }

  /// A copy of the state.
  @usableFromInline
  package func copyState() -> State { unimplemented() }

  /// Reduces an action, or leaves it where it will be.
  @usableFromInline
  package func send(_ action: Action) -> StoreTask { unimplemented() }

  /// Tells of the present state and of each later one, until what is returned is released.
  package func observe(_ observer: StateObserver<State>) -> AnyObject { unimplemented() }

  /// Lets the observer who reads here hear when another state takes the place of the present one.
  @usableFromInline
  package func noteReading() { unimplemented() }

  /// Tells those who observe that a share in the state has changed.
  package func touch() { unimplemented() }

  private func unimplemented(_ function: String = #function) -> Never {
    preconditionFailure("A subclass of Core does not implement \(function). This is a bug in SharedStateStore.")
  }
}
