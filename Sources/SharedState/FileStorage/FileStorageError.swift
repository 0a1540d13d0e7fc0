public import Foundation

/// An error with a file of ``SharedReaderKey/fileStorage(_:decoder:encoder:)``.
public struct FileStorageError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// A failure that a caller can act on. Later versions may add codes.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name.
    public let description: String

    /// The operating system refused to do something with the file; see ``FileStorageError/systemError``.
    public static let system = Code(description: "system")
    /// The content is not a document of the share's type.
    public static let undecodable = Code(description: "undecodable")
    /// The value could not be turned into a document.
    public static let unencodable = Code(description: "unencodable")
    /// A change was not saved, because it would replace content that cannot be read; `save(replacingUnreadable: true)`
    /// replaces that, and it is lost.
    public static let wouldReplaceUnreadable = Code(description: "wouldReplaceUnreadable")
    /// A change was not saved, because another program has changed the file since it was read here. The value of the
    /// file replaces the change: make the change again, if it still applies.
    public static let changedElsewhere = Code(description: "changedElsewhere")
  }

  /// What went wrong.
  public let code: Code
  /// The file.
  public let path: String
  /// The `errno` of a ``Code/system`` error.
  public let systemError: Int32?
  /// What went wrong, without any value.
  public let description: String

  /// The same as ``description``.
  public var errorDescription: String? { description }

  private init(_ code: Code, _ path: String, _ description: String, systemError: Int32? = nil) {
    self.code = code
    self.path = path
    self.systemError = systemError
    self.description = description
  }

  package static func system(operation: String, path: String, code: Int32) -> Self {
    Self(.system, path, "Could not \(operation) '\(path)': \(String(cString: strerror(code)))", systemError: code)
  }

  /// The system refuses to watch a file. Its own text for a limit names something else.
  static func unwatchable(path: String, code: Int32) -> Self {
    let limit: String? =
      switch code {
      case ENOSPC: "'fs.inotify.max_user_watches'"
      case EMFILE: "'fs.inotify.max_user_instances', or that of open files,"
      default: nil
      }
    guard let limit else { return .system(operation: "watch", path: path, code: code) }
    let text = "Could not watch '\(path)': the limit \(limit) is reached. Raise it, and share the value again."
    return Self(.system, path, text, systemError: code)
  }

  package static func undecodable(path: String, reason: String) -> Self {
    Self(.undecodable, path, "'\(path)' is not a document of the expected type: \(reason)")
  }

  static func unencodable(path: String, reason: String) -> Self {
    Self(.unencodable, path, "The value for '\(path)' could not be encoded: \(reason)")
  }

  static func changedElsewhere(path: String) -> Self {
    Self(
      .changedElsewhere,
      path,
      "Another program has changed or deleted '\(path)' since it was read. "
        + "The change that was to be saved was discarded."
    )
  }

  static func wouldReplaceUnreadable(path: String) -> Self {
    Self(
      .wouldReplaceUnreadable,
      path,
      "'\(path)' could not be read, and was not replaced. "
        + "'save(replacingUnreadable: true)' replaces it, and what it holds is lost."
    )
  }
}

extension FileStorageError {
  /// The error in `errno`, for an operation that has just failed.
  static func system(_ operation: String, _ path: String) -> FileStorageError {
    .system(operation: operation, path: path, code: errno)
  }
}
