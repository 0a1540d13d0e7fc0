/// What is to be done after a state has changed: a description, which a store carries out.
///
/// What an effect does runs outside of the reducer, with the dependencies that were in force where it was made.
public struct Effect<Action: Sendable>: Sendable {
  /// `nil` when there is nothing to be done, so that the common case is a comparison with zero.
  @usableFromInline
  let box: EffectBox<Action>?

  @inlinable
  init(box: EffectBox<Action>?) {
    self.box = box
  }

  init(_ operation: EffectOperation<Action>) {
    box = EffectBox(operation)
  }

  /// Nothing.
  @inlinable
  public static var none: Self { Self(box: nil) }

  /// Whether there is nothing to be done.
  @inlinable
  var isNone: Bool { box == nil }
}

/// Holds what an effect does.
@usableFromInline
final class EffectBox<Action: Sendable>: Sendable {
  let operation: EffectOperation<Action>

  init(_ operation: EffectOperation<Action>) {
    self.operation = operation
  }
}

/// What an effect does.
indirect enum EffectOperation<Action: Sendable>: Sendable {
  case send(Action)
  case run(EffectTask<Action>)
  case subscribe(EffectSource<Action>)
  case merge([Effect<Action>])
  case concatenate([Effect<Action>])
  case cancellable(Effect<Action>, id: EffectID, cancelInFlight: Bool)
  case cancel(EffectID)
  /// What a child does that may go; it asks to go by sending the action.
  case child(Effect<Action>, PathComponent, dismissal: Action?)
  /// The end of what a child does.
  case farewell(PathComponent)
}

extension Effect {
  /// Sends an action, which is reduced right after the one that is being reduced.
  public static func send(_ action: Action) -> Self { Self(.send(action)) }

  /// Effects that run at the same time.
  public static func merge(_ effects: Self...) -> Self { merge(effects) }

  /// Effects that run at the same time.
  public static func merge(_ effects: some Sequence<Self>) -> Self {
    let effects = effects.filter { !$0.isNone }
    return effects.count < 2 ? effects.first ?? .none : Self(.merge(effects))
  }

  /// This effect and another one, at the same time.
  @inlinable
  public func merge(with other: Self) -> Self {
    if other.isNone { return self }
    if isNone { return other }
    return merged(with: other)
  }

  @usableFromInline
  func merged(with other: Self) -> Self { .merge([self, other]) }

  /// Effects of which each begins when the one before has ended. When they are cancelled, the rest does not begin.
  public static func concatenate(_ effects: Self...) -> Self { concatenate(effects) }

  /// Effects of which each begins when the one before has ended. When they are cancelled, the rest does not begin.
  public static func concatenate(_ effects: some Collection<Self>) -> Self {
    let effects = effects.filter { !$0.isNone }
    return effects.count < 2 ? effects.first ?? .none : Self(.concatenate(effects))
  }

  /// This effect, and another one when it has ended.
  public func concatenate(with other: Self) -> Self { .concatenate([self, other]) }

  /// The same effect, for the actions of somebody else.
  @inlinable
  public func map<Other: Sendable>(_ transform: @escaping @Sendable (Action) -> Other) -> Effect<Other> {
    map(transform, within: nil)
  }

  /// The same effect, for the actions of a parent.
  /// - Parameter keyPath: Leads from the parent's state to the child's; `nil` when that may go.
  @inlinable
  func map<Other: Sendable>(
    _ transform: @escaping @Sendable (Action) -> Other,
    within keyPath: AnyKeyPath?
  ) -> Effect<Other> {
    isNone ? .none : mapped(transform, within: keyPath)
  }

  @usableFromInline
  func mapped<Other: Sendable>(
    _ transform: @escaping @Sendable (Action) -> Other,
    within keyPath: AnyKeyPath?
  ) -> Effect<Other> {
    guard let operation = box?.operation else { return .none }
    let keyPaths = keyPath.map { [$0] } ?? []
    switch operation {
    case .send(let action):
      return .send(transform(action))
    case .run(let task):
      return Effect<Other>(.run(task.map(transform)))
    case .subscribe(let source):
      return Effect<Other>(.subscribe(source.map(transform)))
    case .merge(let effects):
      return Effect<Other>(.merge(effects.map { $0.map(transform, within: keyPath) }))
    case .concatenate(let effects):
      return Effect<Other>(.concatenate(effects.map { $0.map(transform, within: keyPath) }))
    case .cancellable(let effect, let id, let cancelInFlight):
      return Effect<Other>(.cancellable(effect.map(transform, within: keyPath), id: id, cancelInFlight: cancelInFlight))
    case .cancel(let id):
      return Effect<Other>(.cancel(id))
    case .child(let effect, let component, let dismissal):
      let component = component.within(keyPaths)
      return Effect<Other>(.child(effect.map(transform), component, dismissal: dismissal.map(transform)))
    case .farewell(let component):
      return Effect<Other>(.farewell(component.within(keyPaths)))
    }
  }

  /// What a child does, as part of what its parent does.
  @usableFromInline
  func of(
    _ component: @autoclosure () -> PathComponent,
    dismissal: @autoclosure () -> Action? = nil
  ) -> Self {
    isNone ? self : Self(.child(self, component(), dismissal: dismissal()))
  }

  /// The end of what a child does.
  @usableFromInline
  static func farewell(_ component: PathComponent) -> Self { Self(.farewell(component)) }
}

extension Effect {
  /// Makes the effect one that ends when its id is cancelled.
  ///
  /// The id counts for the feature that returns the effect and for its parents: cancelling it reaches neither a sibling,
  /// nor another element, nor what is presented anew. An effect may have several ids.
  /// - Parameters:
  ///   - id: What ``cancel(id:)`` and `Task.cancel(id:)` name.
  ///   - cancelInFlight: Whether effects that have the id end first.
  public func cancellable(id: some Hashable & Sendable, cancelInFlight: Bool = false) -> Self {
    if isNone { return cancelInFlight ? .cancel(id: id) : .none }
    return Self(.cancellable(self, id: EffectID(id), cancelInFlight: cancelInFlight))
  }

  /// Ends the effects that have an id.
  ///
  /// Once the reducer has returned this, no action of those effects is reduced.
  public static func cancel(id: some Hashable & Sendable) -> Self { Self(.cancel(EffectID(id))) }
}
