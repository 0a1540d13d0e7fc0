/// An action type with a case `binding` for changes of single properties.
public protocol BindableAction<State>: SendableMetatype {
  /// The state whose properties change.
  associatedtype State: Sendable

  /// Makes the action of a change.
  static func binding(_ action: BindingAction<State>) -> Self

  /// The change, if the action is one.
  var binding: BindingAction<State>? { get }
}

extension BindableAction {
  /// The value of the case `binding`. It looks at the value, which takes about a microsecond.
  public var binding: BindingAction<State>? {
    guard let child = Mirror(reflecting: self).children.first, child.label == "binding" else { return nil }
    return child.value as? BindingAction<State>
  }

  /// Makes the action that sets a property.
  public static func set<Value: Equatable & Sendable>(
    _ keyPath: any WritableKeyPath<State, Value> & Sendable,
    _ value: Value
  ) -> Self {
    binding(.set(keyPath, value))
  }
}
