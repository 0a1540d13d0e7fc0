/// What a test has to assert.
public enum Exhaustivity: Equatable, Sendable {
  /// Every change of the state and every action that an effect sends.
  case on
  /// What it wants to.
  ///
  /// - Parameter showSkippedAssertions: Whether it is told of what it has not asserted.
  case off(showSkippedAssertions: Bool)

  /// What it wants to, without a word about the rest.
  public static var off: Self { .off(showSkippedAssertions: false) }
}
