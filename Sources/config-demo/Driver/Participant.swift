import Foundation
import SharedStateRedis
import Subprocess

/// A service that takes part in the demonstration, as a process of its own or inside this one.
actor Participant {
  nonisolated let name: String

  private let lines: AsyncStream<String>
  private let input: @Sendable (String) -> Void
  private let finish: @Sendable () async throws -> Void
  /// The newest config that the service has reported.
  private var sighting = ""

  /// Starts a service as a process of its own, on the Redis at a URL.
  init(name: String, url: String, log: FileHandle) {
    // The path of this very program; only /proc knows it independently of the working directory.
    let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    let process = ChildProcess(
      program.lastPathComponent,
      ["serve", name],
      environment: ["PATH": program.deletingLastPathComponent().path, "REDIS_URL": url],
      log: log
    )
    self.name = name
    lines = process.lines
    input = { process.send($0) }
    finish = {
      let status = try await process.end()
      guard status.isSuccess else { throw DemoError("\(name) has failed: \(status).") }
    }
  }

  /// Starts a service inside this process, on a store of its own.
  init(name: String, store: RedisStore) throws {
    let (commands, command) = AsyncStream.makeStream(of: String.self)
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    let firstConfig = try ShopConfig(contentsOf: URL(fileURLWithPath: ConfigDemo.configFile))
    let service = Service(name: name, firstConfig: firstConfig, store: store) { line.yield($0) }
    let task = Task {
      await service.run(commands: commands)
      line.finish()
    }
    self.name = name
    self.lines = lines
    input = { command.yield($0) }
    finish = {
      command.finish()
      await task.value
    }
  }

  /// Hands the service a command, such as `items 20`.
  nonisolated func send(_ command: String) {
    input(command)
  }

  /// Waits until the service prints a line with this beginning, and returns the line.
  @discardableResult
  func says(_ start: String) async throws -> String {
    try await within(.seconds(15), "\(name) to say that it \(start)") { try await self.nextLine(startingWith: start) }
  }

  /// Waits until the service sees this config, and returns its line.
  func sees(_ config: ShopConfig) async throws -> String {
    let start = "sees \(config)"
    return sighting.hasPrefix(start) ? sighting : try await says(start)
  }

  /// Sends a command, and returns the answer of the service.
  func answer(to command: String, startingWith start: String) async throws -> String {
    send(command)
    return try await says(start)
  }

  /// Ends the service.
  nonisolated func end() async throws {
    try await finish()
  }

  private func nextLine(startingWith start: String) async throws -> String {
    for await line in lines {
      if line.hasPrefix("sees ") { sighting = line }
      if line.hasPrefix(start) { return line }
      guard !line.hasPrefix("failed: ") else { throw DemoError("\(name) \(line)") }
    }
    throw DemoError("\(name) ended before it said that it \(start).")
  }
}
