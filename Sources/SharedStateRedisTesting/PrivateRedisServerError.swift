public import Foundation

/// Why a private server does not do what a test wants of it.
public enum PrivateRedisServerError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// There is no `redis-server` in any folder of PATH.
  case notInstalled
  /// The server could not be started; the text is the end of its log.
  case notStarted(log: String)
  /// The server is stopped, or ended by itself.
  case notRunning
  /// Something that the operating system refused.
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
