public import Foundation

/// An error of a private server.
public enum PrivateRedisServerError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// No folder of PATH contains `redis-server`.
  case notInstalled
  /// The server could not be started; the text is the end of its log.
  case notStarted(log: String)
  /// The server was stopped, or has ended by itself.
  case notRunning
  /// A call of the operating system failed.
  case system(operation: String, code: Int32)

  /// A sentence that says what to do.
  public var description: String {
    switch self {
    case .notInstalled: "redis-server is not on the PATH. Install it: apt-get install redis-server"
    case .notStarted(let log): "redis-server did not start. The end of its log:\n\(log)"
    case .notRunning: "The private redis-server is not running. Start it with restart()."
    case .system(let operation, let code): "\(operation) failed with the system error \(code)."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
