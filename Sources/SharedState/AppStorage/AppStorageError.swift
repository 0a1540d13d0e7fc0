public import Foundation

/// Something went wrong with a value of app storage.
public enum AppStorageError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// The value under the key is not of the share's type. The texts contain no values.
  case unreadable(key: String, expected: String, found: String)
  /// The value could not be turned into something that can be stored. The reason contains no values.
  case unencodable(key: String, reason: String)
  /// A change was not saved, because it would replace a value that cannot be read; `save(replacingUnreadable: true)`
  /// replaces that, and it is lost.
  case wouldReplaceUnreadable(key: String)
  /// The change holds for this process, but the file of the user defaults could not be written.
  case notWritten(key: String)

  /// What went wrong, without any value.
  public var description: String {
    switch self {
    case .unreadable(let key, let expected, let found):
      "The app storage key '\(key)' holds \(found), which is no \(expected)."
    case .unencodable(let key, let reason):
      "The value for the app storage key '\(key)' could not be encoded: \(reason)"
    case .wouldReplaceUnreadable(let key):
      "The app storage key '\(key)' holds something unreadable, which was not replaced. "
        + "'save(replacingUnreadable: true)' replaces it, and it is lost."
    case .notWritten(let key):
      "The app storage key '\(key)' is set, but the file of the user defaults could not be written."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
