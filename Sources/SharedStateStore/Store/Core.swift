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

/// Watches a core, and runs its effects.
package protocol CoreMonitor<State, Action>: AnyObject, Sendable {
  associatedtype State: Sendable
  associatedtype Action: Sendable

  /// What effects run on; `nil` for the usual threads.
  var executor: (any TaskExecutor)? { get }

  /// Called in the place of the reducer, with the lock of the core held.
  /// - Parameter reduce: Calls the reducer.
  func reduce(
    _ action: Action,
    into state: inout State,
    isSentByEffect: Bool,
    _ reduce: (inout State, Action) -> Effect<Action>
  ) -> Effect<Action>

  /// Reports what an effect has done wrong.
  /// - Parameter location: Where the effect is written.
  func report(_ message: String, at location: SourceLocation)
}

/// What waits to be reduced.
@usableFromInline
package enum Letter<Action: Sendable>: Sendable {
  /// An action, and the effect or the action that it comes from, or one of its own when it comes from outside. That has
  /// begun something, which ends when this is reduced.
  case action(Action, from: EffectNode, isSentByEffect: Bool)
  /// An effect that begins as a part of another one, on behalf of a child.
  case effect(Effect<Action>, EffectPlace)
  /// Somebody has begun to observe or ended that, or a share in the state has changed, which is news for all who observe.
  case look(isNews: Bool)
}

/// Where an effect belongs.
@usableFromInline
package struct EffectPlace: Sendable {
  // It has no parameter: to pass on what the compiler does not know takes longer than most of what an effect does.

  let node: EffectNode
  let path: EffectPath
  /// Sends the action that lets the innermost child go, for an effect; `nil` when there is none that could.
  let dismiss: (@Sendable (EffectNode) -> Void)?
}

/// What has to be done when the lock is free: the beginnings and the ends of effects are other people's code.
struct Work {
  var tasks: [@Sendable () -> Void] = []
}
