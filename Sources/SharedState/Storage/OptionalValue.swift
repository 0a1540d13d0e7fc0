/// An optional, whatever it wraps.
protocol OptionalValue {
  /// The type without the optional around it.
  static var wrappedType: Any.Type { get }

  var isNil: Bool { get }
}

extension Optional: OptionalValue {
  static var wrappedType: Any.Type { Wrapped.self }

  var isNil: Bool { if case .none = self { true } else { false } }
}
