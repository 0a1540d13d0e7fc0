import Testing

/// What tells the cases of a parameterised test apart: the arguments, and a number among cases with equal ones.
///
/// Swift Testing knows an identity of a case and does not publish it, so it is read by reflection. Should a later
/// version arrange it differently, the cases share one identity, and a test of ours says so.
struct CaseIdentity: Hashable, @unchecked Sendable {
  // Unchecked for `AnyHashable`: the identities of arguments are made of bytes.
  private let arguments: [AnyHashable]
  private let discriminator: Int

  /// Nil when the test has no parameters.
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
