public import Foundation

/// A value was required, but nothing is stored under its key.
public struct NothingStoredError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// Makes the error; useful to keys.
  public init() {}

  /// A message for people.
  public var description: String { "Nothing is stored under the key." }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

/// A key has not finished in time. It continues nevertheless.
public struct TimedOutError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// Makes the error; useful to keys.
  public init() {}

  /// A message for people.
  public var description: String { "The key has not answered in time." }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
