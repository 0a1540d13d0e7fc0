/// A change of one property of a state, as an action.
public struct BindingAction<Root: Sendable>: Sendable, Equatable {
  /// The property.
  public let keyPath: any PartialKeyPath<Root> & Sendable
  let set: @Sendable (inout Root) -> Void
  private let value: any Equatable & Sendable

  /// Sets a property to a value.
  public static func set<Value: Equatable & Sendable>(
    _ keyPath: any WritableKeyPath<Root, Value> & Sendable,
    _ value: Value
  ) -> Self {
    Self(keyPath: keyPath, set: { $0[keyPath: keyPath] = value }, value: value)
  }

  /// Whether both set the same property to the same value.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    func isEqual<Value: Equatable>(_ value: Value) -> Bool { rhs.value as? Value == value }
    return (lhs.keyPath as AnyKeyPath) == (rhs.keyPath as AnyKeyPath) && isEqual(lhs.value)
  }

  /// Whether it sets the property, as in `case .binding(\.name)`.
  public static func ~= <Value>(keyPath: WritableKeyPath<Root, Value>, action: Self) -> Bool {
    (keyPath as AnyKeyPath) == (action.keyPath as AnyKeyPath)
  }
}

extension BindingAction: CustomReflectable {
  /// The property and the value.
  public var customMirror: Mirror {
    Mirror(self, children: ["set": (keyPath as AnyKeyPath, value)], displayStyle: .enum)
  }
}
