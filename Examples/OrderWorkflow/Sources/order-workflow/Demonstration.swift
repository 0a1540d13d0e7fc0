import Dispatch
import Foundation
import Logging
import OrderWorkflow
import SharedState
import SharedStateRedis
import Subprocess

/// Kills the payment service between charging and saving: with a bank that charges as often as it is asked, and with a
/// bank that charges each order once.
enum Demonstration {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private static let patience = Duration.seconds(60)

  static func run() async throws {
    try await withThrowingTaskGroup { tasks in
      defer { tasks.cancelAll() }
      tasks.addTask { try await runOnServer() }
      tasks.addTask {
        try await Task.sleep(for: patience)
        throw Failure(description: "The services have not ended within \(patience).")
      }
      tasks.addTask {
        await interruption()
        throw Failure(description: "Interrupted.")
      }
      try await tasks.next()
    }
  }

  /// Returns once Ctrl-C is pressed. Without it, Ctrl-C would leave the folder behind.
  private static func interruption() async {
    let (presses, press) = AsyncStream.makeStream(of: Void.self)
    let source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler { press.yield() }
    source.resume()
    for await _ in presses { break }
    source.cancel()
  }

  /// Runs the rounds on a Redis on a socket in a folder of its own.
  private static func runOnServer() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "order-workflow-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let socket = folder.appending(path: "socket").path
    _ = try await Subprocess.run(
      .name("redis-server"),
      arguments: [
        "--port", "0", "--unixsocket", socket, "--dir", folder.path, "--save", "", "--loglevel", "warning",
      ],
      input: .none,
      output: .discarded,
      error: .currentStandardError
    ) { server in
      // The server keeps no data, so killing it is safe.
      defer { try? server.send(signal: .kill) }
      say("A bank that charges as often as it is asked:")
      try await round("unix://\(socket)?namespace=often:", [])
      say("\nA bank that charges each order once:")
      try await round("unix://\(socket)?namespace=once:", ["charges-once"])
    }
  }

  private static func round(_ url: String, _ options: [String]) async throws {
    async let shop: Void = run("shop", url: url)
    try await run("payment", ["dies-after-charge"] + options, url: url)
    say("          payment is killed before it has saved that, and started again")
    // Payment would run for ever. It is killed when this function returns.
    async let _: Void = run("payment", options, url: url)
    try await shop
    let redis = RedisStore(try RedisConfiguration(url: url), logger: .quiet)
    let ledger = Shared.ledger(on: redis)
    try await ledger.load()
    say("bank      charges for order 1: \(ledger.wrappedValue.map { "\($0.amount) cents" }.joined(separator: ", "))")
    await redis.shutdown(within: .seconds(5))
  }

  /// Runs a service until it ends. Cancelling the task kills it.
  ///
  /// - Parameter url: The URL of its Redis.
  private static func run(_ service: String, _ options: [String] = [], url: String) async throws {
    let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    _ = try await Subprocess.run(
      .name(program.lastPathComponent),
      arguments: Arguments([service] + options),
      environment: .inherit.updating(["PATH": program.deletingLastPathComponent().path, "REDIS_URL": url]),
      output: .currentStandardOutput,
      error: .currentStandardError
    )
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
