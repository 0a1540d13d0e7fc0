/// Work that follows a change of a state: a description that a store carries out.
///
/// The work runs outside of the reducer, with the dependencies that were in force where the effect was made.
public struct Effect<Action: Sendable>: Sendable {
  /// `nil` when there is no work, so that the common case is a comparison with zero.
  @usableFromInline
  let box: EffectBox<Action>?

  // Calling one of these three in code that is not specialised would instantiate the metadata of the type each time.
  @inlinable
  @inline(__always)
  init(box: EffectBox<Action>?) {
    self.box = box
  }

  init(_ operation: EffectOperation<Action>) {
    box = EffectBox(operation)
  }

  /// No work.
  @inlinable
  @inline(__always)
  public static var none: Self { Self(box: nil) }

  /// Whether there is no work.
  @inlinable
  @inline(__always)
  var isNone: Bool { box == nil }
}

/// Holds the work of an effect.
@usableFromInline
final class EffectBox<Action: Sendable>: Sendable {
  let operation: EffectOperation<Action>

  init(_ operation: EffectOperation<Action>) {
    self.operation = operation
  }
}

/// The work of an effect.
indirect enum EffectOperation<Action: Sendable>: Sendable {
  case send(Action)
  case run(EffectTask<Action>)
  case subscribe(EffectSource<Action>)
  case merge([Effect<Action>])
  case concatenate([Effect<Action>])
  case cancellable(Effect<Action>, id: EffectID, cancelInFlight: Bool)
  case cancel(EffectID)
  /// The effects of a child that is always present, whose ids are its own.
  case part(Effect<Action>, PathComponent)
  /// The effects of a child that may be dismissed; the child asks for that by sending the action.
  case child(Effect<Action>, PathComponent, dismissal: Action?)
  /// The end of the effects of a child.
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

  /// Effects that run one after the other. When they are cancelled, the rest does not begin.
  public static func concatenate(_ effects: Self...) -> Self { concatenate(effects) }

  /// Effects that run one after the other. When they are cancelled, the rest does not begin.
  public static func concatenate(_ effects: some Collection<Self>) -> Self {
    let effects = effects.filter { !$0.isNone }
    return effects.count < 2 ? effects.first ?? .none : Self(.concatenate(effects))
  }

  /// This effect, followed by another one.
  public func concatenate(with other: Self) -> Self { .concatenate([self, other]) }

  /// The same effect, with its actions transformed.
  @inlinable
  public func map<Other: Sendable>(_ transform: @escaping @Sendable (Action) -> Other) -> Effect<Other> {
    isNone ? .none : mapped(transform)
  }

  @usableFromInline
  func mapped<Other: Sendable>(_ transform: @escaping @Sendable (Action) -> Other) -> Effect<Other> {
    guard let operation = box?.operation else { return .none }
    switch operation {
    case .send(let action):
      return .send(transform(action))
    case .run(let task):
      return Effect<Other>(.run(task.map(transform)))
    case .subscribe(let source):
      return Effect<Other>(.subscribe(source.map(transform)))
    case .merge(let effects):
      return Effect<Other>(.merge(effects.map { $0.map(transform) }))
    case .concatenate(let effects):
      return Effect<Other>(.concatenate(effects.map { $0.map(transform) }))
    case .cancellable(let effect, let id, let cancelInFlight):
      return Effect<Other>(.cancellable(effect.map(transform), id: id, cancelInFlight: cancelInFlight))
    case .cancel(let id):
      return Effect<Other>(.cancel(id))
    case .part(let effect, let component):
      return Effect<Other>(.part(effect.map(transform), component))
    case .child(let effect, let component, let dismissal):
      return Effect<Other>(.child(effect.map(transform), component, dismissal: dismissal.map(transform)))
    case .farewell(let component):
      return Effect<Other>(.farewell(component))
    }
  }

  /// The effects of a child, as part of its parent's effects.
  @usableFromInline
  func of(
    _ component: @autoclosure () -> PathComponent,
    dismissal: @autoclosure () -> Action? = nil
  ) -> Self {
    isNone ? self : Self(.child(self, component(), dismissal: dismissal()))
  }

  /// The effects of a child that is always present, as part of its parent's effects.
  @inlinable
  func ofPart(_ component: PathComponent) -> Self { isNone ? self : inPart(component) }

  @usableFromInline
  func inPart(_ component: PathComponent) -> Self { Self(.part(self, component)) }

  /// The end of the effects of a child.
  @usableFromInline
  static func farewell(_ component: PathComponent) -> Self { Self(.farewell(component)) }
}

extension Effect {
  /// Assigns an id to the effect, by which it can be cancelled.
  ///
  /// The id counts for the feature that returns the effect and for its parents: cancelling it reaches neither a
  /// sibling, nor another element, nor a new presentation. An effect may have several ids.
  /// - Parameters:
  ///   - id: The id for ``cancel(id:)`` and `Task.cancel(id:)`.
  ///   - cancelInFlight: Whether running effects with the id end first.
  public func cancellable(id: some Hashable & Sendable, cancelInFlight: Bool = false) -> Self {
    if isNone { return cancelInFlight ? .cancel(id: id) : .none }
    return Self(.cancellable(self, id: EffectID(id), cancelInFlight: cancelInFlight))
  }

  /// Ends the effects that have an id.
  ///
  /// Once the reducer has returned this, no action of those effects is reduced.
  public static func cancel(id: some Hashable & Sendable) -> Self { Self(.cancel(EffectID(id))) }
}
