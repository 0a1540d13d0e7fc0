public import Foundation

/// A task sleeps on a ``TestClock`` although none should.
public struct SuspensionError: Error, Equatable, LocalizedError, CustomStringConvertible {
  /// Says so.
  public var description: String { "A task sleeps on the test clock, or is about to." }

  init() {}

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
