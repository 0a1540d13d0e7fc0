import Dispatch
import Foundation
import Subprocess

/// A redis-server on a free port of 127.0.0.1, with a temporary folder of its own.
actor PrivateServer: DemoServer {
  private let folder: URL
  private let logFile: URL
  private let logHandle: FileHandle
  private let interruption: any DispatchSourceSignal
  private let port: Int
  private var process: ChildProcess?

  private static let portAttempts = 20

  init() async throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("config-demo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    interruption = Self.removeAtInterruption(folder)
    logFile = folder.appendingPathComponent("log")
    try Data().write(to: logFile)
    logHandle = try FileHandle(forWritingTo: logFile)
    (process, port) = try await Self.launchOnFreePort(folder: folder, log: logHandle)
  }

  nonisolated var title: String { "a private redis-server on 127.0.0.1:\(port)" }
  nonisolated var tool: String { "redis-cli -p \(port)" }

  func start() async throws {
    guard process == nil else { return }
    process = try await Self.launch(port: port, folder: folder, log: logHandle)
    guard process != nil else { throw DemoError("redis-server did not start again on port \(port).") }
  }

  func stop() async throws {
    _ = try await process?.end()
    process = nil
  }

  func addService(_ name: String) -> Participant {
    Participant(name: name, url: "redis://127.0.0.1:\(port)?label=\(name)", log: logHandle)
  }

  func get() async throws -> String {
    try await redisCLI("GET", "demo:config")
  }

  func set(_ document: String) async throws {
    _ = try await redisCLI("SET", "demo:config", document)
  }

  nonisolated var log: String {
    (try? String(contentsOf: logFile, encoding: .utf8)) ?? ""
  }

  func end() async throws {
    try await stop()
    try FileManager.default.removeItem(at: folder)
  }

  private func redisCLI(_ arguments: String...) async throws -> String {
    let result = try await within(.seconds(15), "redis-cli to end") { [port] in
      try await Subprocess.run(
        .name("redis-cli"),
        arguments: Arguments(["-p", "\(port)"] + arguments),
        output: .string(limit: 1 << 20),
        error: .currentStandardError
      )
    }
    let output = result.standardOutput.trimmingCharacters(in: .newlines)
    guard result.terminationStatus.isSuccess else { throw DemoError("redis-cli failed: \(output)") }
    return output
  }

  /// Ctrl-C leaves no folder behind. All programs end with this process, because their input does.
  private static func removeAtInterruption(_ folder: URL) -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler {
      try? FileManager.default.removeItem(at: folder)
      exit(128 + SIGINT)
    }
    source.resume()
    return source
  }

  /// Starts the server on a port below those that the system gives to clients, so that it is still free when the
  /// server starts again.
  private static func launchOnFreePort(folder: URL, log: FileHandle) async throws -> (ChildProcess, Int) {
    for _ in 0..<portAttempts {
      let port = Int.random(in: 10_000..<32_000)
      if let process = try await launch(port: port, folder: folder, log: log) { return (process, port) }
    }
    throw DemoError("redis-server starts on no port; its log is in \(folder.path)/log.")
  }

  /// Starts the server, and returns when it is ready; `nil` when it ended instead.
  private static func launch(port: Int, folder: URL, log: FileHandle) async throws -> ChildProcess? {
    // The shell ends the server when its own input ends, so that the server never outlives the demonstration.
    let script = #"redis-server "$@" </dev/null & exec >&2; read -r _; kill $!; wait $!"#
    // The append-only file keeps the data. A server that takes snapshots would not end without its folder.
    let persistence = ["--dir", folder.path, "--appendonly", "yes", "--save", ""]
    let options = ["--bind", "127.0.0.1", "--port", "\(port)"] + persistence
    let process = ChildProcess("sh", ["-c", script, "sh"] + options, log: log)
    let isReady = try await within(.seconds(15), "redis-server to start") {
      for await line in process.lines where line.contains("eady to accept connections") { return true }
      return false
    }
    if isReady { return process }
    _ = try await process.end()
    return nil
  }
}
