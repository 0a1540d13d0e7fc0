public import Foundation

/// An error with a value of app storage.
public struct AppStorageError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// A failure that a caller can act on. Later versions may add codes.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name.
    public let description: String

    /// The value under the key is not of the share's type.
    public static let unreadable = Code(description: "unreadable")
    /// The value could not be turned into something that can be stored.
    public static let unencodable = Code(description: "unencodable")
    /// A change was not saved, because it would replace a value that cannot be read; `save(replacingUnreadable: true)`
    /// replaces that, and it is lost.
    public static let wouldReplaceUnreadable = Code(description: "wouldReplaceUnreadable")
    /// The change holds for this process, but the file of the user defaults could not be written.
    public static let notWritten = Code(description: "notWritten")
  }

  /// What went wrong.
  public let code: Code
  /// The key of the value.
  public let key: String
  /// What went wrong, without any value.
  public let description: String

  /// The same as ``description``.
  public var errorDescription: String? { description }

  private init(_ code: Code, _ key: String, _ description: String) {
    self.code = code
    self.key = key
    self.description = description
  }

  package static func unreadable(key: String, expected: String, found: String) -> Self {
    Self(.unreadable, key, "The app storage key '\(key)' holds \(found), which is no \(expected).")
  }

  static func unencodable(key: String, reason: String) -> Self {
    Self(.unencodable, key, "The value for the app storage key '\(key)' could not be encoded: \(reason)")
  }

  static func wouldReplaceUnreadable(key: String) -> Self {
    Self(
      .wouldReplaceUnreadable,
      key,
      "The app storage key '\(key)' holds something unreadable, which was not replaced. "
        + "'save(replacingUnreadable: true)' replaces it, and it is lost."
    )
  }

  static func notWritten(key: String) -> Self {
    Self(
      .notWritten,
      key,
      "The app storage key '\(key)' is set, but the file of the user defaults could not be written."
    )
  }
}
