import Foundation
import Logging
import OrderWorkflow
import SharedState
import SharedStateRedis

/// Kills the payment service between charging and saving: with a bank that charges as often as it is asked, and with a
/// bank that charges each order once.
enum Demonstration {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private static let patience = 20.0

  static func run() async throws {
    let server = try Server()
    defer { server.stop() }
    say("A bank that charges as often as it is asked:")
    try await round(server.url(namespace: "often:"), [])
    say("\nA bank that charges each order once:")
    try await round(server.url(namespace: "once:"), ["charges-once"])
  }

  private static func round(_ url: String, _ options: [String]) async throws {
    let shop = try Child(["shop"], url: url)
    defer { shop.end() }
    let killed = try Child(["payment", "dies-after-charge"] + options, url: url)
    defer { killed.end() }
    try await killed.ended(within: patience)
    say("          payment is killed before it has saved that, and started again")
    let payment = try Child(["payment"] + options, url: url)
    defer { payment.end() }
    try await shop.ended(within: patience)
    let redis = RedisStore(try RedisConfiguration(url: url), logger: .quiet)
    let ledger = Shared.ledger(on: redis)
    try await ledger.load()
    say("bank      charges for order 1: \(ledger.wrappedValue.map { "\($0.amount) cents" }.joined(separator: ", "))")
    await redis.shutdown(within: .seconds(5))
  }
}

/// A process that its creator ends.
final class Child {
  private let process = Process()

  /// - Parameter url: The URL of its Redis.
  init(_ arguments: [String], url: String) throws {
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["REDIS_URL": url]) { $1 }
    process.standardInput = FileHandle.nullDevice
    try process.run()
  }

  /// Waits until the process has ended.
  func ended(within seconds: Double) async throws {
    let deadline = Date.now + seconds
    while process.isRunning {
      guard Date.now < deadline else {
        throw Demonstration.Failure(description: "A service has not ended within \(seconds) seconds.")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  func end() {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }
}

/// A Redis on a socket in a folder of its own.
struct Server {
  private let process = Process()
  private let folder = FileManager.default.temporaryDirectory.appending(path: "order-workflow-\(getpid())")

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "redis-server", "--port", "0", "--unixsocket", folder.appending(path: "socket").path, "--dir", folder.path,
      "--save", "", "--loglevel", "warning",
    ]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
  }

  func url(namespace: String) -> String { "unix://\(folder.appending(path: "socket").path)?namespace=\(namespace)" }

  func stop() {
    // The server keeps no data, so killing it is safe. Threads of Swift block SIGTERM, and processes that they start
    // inherit that.
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }
}

extension Logger {
  /// A logger that prints only errors.
  static var quiet: Logger {
    var logger = Logger(label: "order-workflow")
    logger.logLevel = .error
    return logger
  }
}
