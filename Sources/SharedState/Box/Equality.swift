/// Compares values of any type.
package enum Equality {
  /// Whether the values are equal by their own `==`; `nil` when they have none.
  package static func areEqual<Value>(_ lhs: Value, _ rhs: Value) -> Bool? {
    (lhs as? any Equatable).map { isEqual($0, to: rhs) }
  }

  private static func isEqual<Value: Equatable>(_ lhs: Value, to rhs: Any) -> Bool {
    guard let rhs = rhs as? Value else { return false }
    return lhs == rhs
  }
}
