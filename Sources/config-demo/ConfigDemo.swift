import Foundation
import Logging
import SharedStateRedis

/// `config-demo` shows three services share one config; `config-demo serve NAME` is one such service.
@main
enum ConfigDemo {
  static let configFile = "Sources/config-demo/config.json"

  static func main() async {
    do {
      let arguments = Array(CommandLine.arguments.dropFirst())
      switch (arguments.first, arguments.count) {
      case (nil, _): try await Demonstration.run()
      case ("serve", 2): try await serve(arguments[1], configFile: configFile)
      case ("serve", 3): try await serve(arguments[1], configFile: arguments[2])
      default: throw DemoError("Usage: config-demo [serve NAME [CONFIG.json]]")
      }
    } catch {
      FileHandle.standardError.writeLine("config-demo: \(error)")
      exit(1)
    }
  }

  /// Runs a service that takes its commands from standard input, and shares its config on the Redis at `REDIS_URL`.
  private static func serve(_ name: String, configFile: String) async throws {
    var logger = Logger(label: name)
    logger.logLevel = .notice
    let service = Service(
      name: name,
      firstConfig: try ShopConfig(contentsOf: URL(fileURLWithPath: configFile)),
      store: RedisStore.fromEnvironmentOrExit(logger: logger),
      say: { FileHandle.standardOutput.writeLine($0) }
    )
    await service.run(commands: standardInput)
  }

  /// The lines of standard input. Reading blocks, so it has a thread of its own.
  private static var standardInput: AsyncStream<String> {
    AsyncStream { lines in
      Thread.detachNewThread {
        while let line = readLine() { lines.yield(line) }
        lines.finish()
      }
    }
  }
}

extension FileHandle {
  /// Writes a line immediately, even when the output is not a terminal.
  func writeLine(_ text: String) {
    write(Data("\(text)\n".utf8))
  }
}
