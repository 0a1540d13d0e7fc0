/// A reducer whose body has been evaluated, as a store calls it.
public struct Reduction<State: Sendable, Action: Sendable>: Sendable {
  /// Reduces an action, and leaves the effects of children that have gone to whoever calls it.
  @usableFromInline
  let run: @Sendable (inout State, Action) -> Effect<Action>

  /// Tells which children have gone; `nil` when there are none that could.
  @usableFromInline
  let children: Children<State, Action>?

  /// A reduction that a closure makes.
  @inlinable
  public init(_ run: @escaping @Sendable (inout State, Action) -> Effect<Action>) {
    self.init(run: run, children: nil)
  }

  @inlinable
  init(
    run: @escaping @Sendable (inout State, Action) -> Effect<Action>,
    children: Children<State, Action>?
  ) {
    self.run = run
    self.children = children
  }

  /// Reduces an action, and cancels the effects of children that have gone with it.
  @inlinable
  public func callAsFunction(_ state: inout State, _ action: Action) -> Effect<Action> {
    callAsFunction(&state, action, registry: nil)
  }

  /// The same for a store.
  /// - Parameter registry: Knows which children of children have effects.
  @inlinable
  func callAsFunction(
    _ state: inout State,
    _ action: Action,
    registry: CancellationRegistry?
  ) -> Effect<Action> {
    guard let children else { return run(&state, action) }
    let before = children.presence(state, action, registry.map { LiveChildren(in: $0) } ?? .none)
    let effect = run(&state, action)
    return effect.merge(with: children.farewell(before, state))
  }
}
