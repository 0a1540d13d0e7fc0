public import Foundation

/// Something went wrong with a private server.
public struct PrivateRedisServerError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// A failure that a caller can act on. Later versions may add codes.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name.
    public let description: String

    /// No folder of PATH contains `redis-server`.
    public static let notInstalled = Code(description: "notInstalled")
    /// The server could not be started. The description of the error has the end of its log.
    public static let notStarted = Code(description: "notStarted")
    /// The server was stopped, or has ended by itself.
    public static let notRunning = Code(description: "notRunning")
    /// A call of the operating system failed; see ``PrivateRedisServerError/systemError``.
    public static let system = Code(description: "system")

    /// Matches an error by its code, in `catch PrivateRedisServerError.Code.notInstalled`.
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? PrivateRedisServerError)?.code == code
    }
  }

  /// What went wrong.
  public let code: Code
  /// The `errno` of a ``Code/system`` error.
  public let systemError: Int32?
  /// A sentence that says what to do.
  public let description: String

  /// The same as ``description``.
  public var errorDescription: String? { description }

  private init(_ code: Code, _ description: String, systemError: Int32? = nil) {
    self.code = code
    self.systemError = systemError
    self.description = description
  }

  static func notInstalled(_ program: String) -> Self {
    Self(
      .notInstalled,
      "\(program) is not on the PATH. Install it: apt-get install redis-server. "
        + "Or name another server in \(PrivateRedisServer.executableVariable)."
    )
  }

  static func notStarted(log: String) -> Self {
    Self(.notStarted, "redis-server did not start. The end of its log:\n\(log)")
  }

  static var notRunning: Self {
    Self(.notRunning, "The private redis-server is not running. Start it with restart().")
  }

  static func system(operation: String, code: Int32) -> Self {
    Self(.system, "\(operation) failed with the system error \(code).", systemError: code)
  }
}
