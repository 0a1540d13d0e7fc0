/// Who asks a key to load its value.
public enum LoadContext<Value> {
  /// The first use of the key; the associated value is its default.
  case initialValue(Value)

  /// An explicit `load()`.
  case userInitiated

  /// The default, when this is the first use of the key.
  public var initialValue: Value? {
    guard case .initialValue(let value) = self else { return nil }
    return value
  }
}

extension LoadContext: Sendable where Value: Sendable {}
