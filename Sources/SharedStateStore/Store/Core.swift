package import SharedState

/// The core of a store: it has a state of its own, or shows a part of another core's state.
@usableFromInline
package class Core<State: Sendable, Action: Sendable>: @unchecked Sendable {
  // `@unchecked Sendable` is right because this class has no properties, and each subclass proves its own.

  @usableFromInline
  package init() {}

  /// The name of the feature, for messages.
  package var name: String { unimplemented() }

  /// A copy of the state.
  @usableFromInline
  func copyState() -> State { unimplemented() }

  /// Reduces an action, or queues it for the thread that will reduce it.
  @usableFromInline
  package func send(_ action: Action) -> StoreTask { unimplemented() }

  /// Calls an observer with the present state and each later one, until the returned object is released.
  package func observe(_ observer: StateObserver<State>) -> AnyObject { unimplemented() }

  /// Records that an observer reads here, to be notified when another state replaces the present one.
  @usableFromInline
  func noteReading() { unimplemented() }

  /// Notifies observers that a share in the state has changed.
  package func touch() { unimplemented() }

  private func unimplemented(_ function: String = #function) -> Never {
    preconditionFailure("A subclass of Core does not implement \(function). This is a bug in SharedStateStore.")
  }
}

/// Monitors a core, and runs its effects.
package protocol CoreMonitor<State, Action>: AnyObject, Sendable {
  associatedtype State: Sendable
  associatedtype Action: Sendable

  /// The executor for effects; `nil` for the usual threads.
  var executor: (any TaskExecutor)? { get }

  /// Called instead of the reducer, with the lock of the core held.
  /// - Parameter reduce: Calls the reducer.
  func reduce(
    _ action: Action,
    into state: inout State,
    isSentByEffect: Bool,
    _ reduce: (inout State, Action) -> Effect<Action>
  ) -> Effect<Action>

  /// Records that the feature dismisses itself although no parent presents it, after which its effects are cancelled;
  /// `nil` when that is an issue.
  var recordDismissal: (@Sendable () -> Void)? { get }

  /// Reports an error in an effect.
  /// - Parameter location: The location of the effect.
  func report(_ message: String, at location: CallSite)
}

/// An item that waits to be reduced.
@usableFromInline
package enum Letter<Action: Sendable>: Sendable {
  /// An action, and the node of the effect or action that sent it, or a node of its own when a caller sent it. The node
  /// counts the letter as begun; that ends when the letter is reduced.
  case action(Action, from: EffectNode, isSentByEffect: Bool)
  /// An effect that begins as a part of another one, on behalf of a child.
  case effect(Effect<Action>, EffectPlace)
  /// A request to notify observers: observers were added or removed, or a share in the state has changed, of which all
  /// observers are notified.
  case notify(isNews: Bool)
}

/// The place of an effect.
@usableFromInline
package struct EffectPlace: Sendable {
  // It has no type parameter: passing on a type that the compiler does not know takes longer than most effects.

  let node: EffectNode
  let path: EffectPath
  /// Sends the action that dismisses the innermost child, for an effect; `nil` when no child may be removed.
  let dismiss: (@Sendable (EffectNode) -> Void)?
}

/// Work for after the lock is released: starting and ending effects runs user code.
struct Work {
  var tasks: [@Sendable () -> Void] = []
}
