/// A task sleeps on a ``TestClock`` although none should.
public struct SuspensionError: Error, Equatable, CustomStringConvertible {
  /// Says so.
  public var description: String { "A task sleeps on the test clock, or is about to." }

  init() {}
}
