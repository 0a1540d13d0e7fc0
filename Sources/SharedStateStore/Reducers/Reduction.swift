/// A reducer whose body has been evaluated, as a store calls it.
public struct Reduction<State: Sendable, Action: Sendable>: Sendable {
  /// Reduces an action, and leaves it to the caller to cancel the effects of removed children.
  @usableFromInline
  let run: @Sendable (inout State, Action) -> Effect<Action>

  /// Finds the children that were removed; `nil` when there are none that could be.
  @usableFromInline
  let children: Children<State, Action>?

  /// A reduction that is a closure.
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

  /// Reduces an action, and cancels the effects of children that it has removed.
  @inlinable
  public func callAsFunction(_ state: inout State, _ action: Action) -> Effect<Action> {
    guard let children else { return run(&state, action) }
    return reduce(&state, action, children, .unknown)
  }

  /// Reduces an action on behalf of a store.
  /// - Parameter registry: Finds the children that have effects; `nil` when none has ever had any.
  @inlinable
  func callAsFunction(
    _ state: inout State,
    _ action: Action,
    registry: CancellationRegistry?
  ) -> Effect<Action> {
    guard let children else { return run(&state, action) }
    if let registry, registry.hasChildren { return reduce(&state, action, children, LiveChildren(in: registry)) }
    // Children that are removed now have no effects except those of this very action.
    let effect = run(&state, action)
    if effect.isNone { return effect }
    return effect.merge(with: children.farewell(children.acting(effect.children), state))
  }

  @usableFromInline
  func reduce(
    _ state: inout State,
    _ action: Action,
    _ children: Children<State, Action>,
    _ live: LiveChildren
  ) -> Effect<Action> {
    let before = children.presence(state, action, live)
    let effect = run(&state, action)
    return effect.merge(with: children.farewell(before, state))
  }
}
