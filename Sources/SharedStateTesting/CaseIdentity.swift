import Testing

/// The identity of a case of a parameterised test: its arguments, and a number among cases with equal arguments.
///
/// Swift Testing has an identity for each case, but does not publish it, so it is read by reflection. If a later
/// version changes the layout, all cases share one identity, and a test of this library fails.
struct CaseIdentity: Hashable, @unchecked Sendable {
  // Unchecked because of `AnyHashable`: the identities of arguments consist of bytes.
  private let arguments: [AnyHashable]
  private let discriminator: Int

  /// Returns `nil` when the test has no parameters.
  init?(_ testCase: Test.Case) {
    guard
      testCase.isParameterized,
      let kind = Mirror(reflecting: testCase).descendant("_kind", "parameterized")
    else { return nil }
    let mirror = Mirror(reflecting: kind)
    guard
      let arguments = mirror.descendant("arguments") as? [any Sendable],
      let discriminator = mirror.descendant("discriminator") as? Int
    else { return nil }
    self.arguments = arguments.compactMap { Mirror(reflecting: $0).descendant("id") as? AnyHashable }
    self.discriminator = discriminator
  }
}
