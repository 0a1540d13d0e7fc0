/// A value was required, but nothing is stored under its key.
public struct NothingStoredError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Makes the error; useful to keys.
  public init() {}

  /// Says so.
  public var description: String { "Nothing is stored under the key." }
}
