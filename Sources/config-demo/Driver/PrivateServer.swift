import Foundation

/// A redis-server on a free port of 127.0.0.1, with a temporary folder of its own.
actor PrivateServer: DemoServer {
  private let folder: URL
  private let executable: String
  private let logFile: URL
  private let logHandle: FileHandle
  private let port: Int
  private var process: ChildProcess?

  private static let portAttempts = 20

  init(executable: String) async throws {
    self.executable = executable
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("config-demo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    logFile = folder.appendingPathComponent("log")
    try Data().write(to: logFile)
    logHandle = try FileHandle(forWritingTo: logFile)
    (process, port) = try await Self.launchOnFreePort(executable, folder: folder, log: logHandle)
  }

  nonisolated var title: String { "a private redis-server on 127.0.0.1:\(port)" }
  nonisolated var tool: String { "redis-cli -p \(port)" }

  func start() async throws {
    guard process == nil else { return }
    process = try await Self.launch(executable, port: port, folder: folder, log: logHandle)
    guard process != nil else { throw DemoError("redis-server did not start again on port \(port).") }
  }

  func stop() async throws {
    _ = try await process?.end()
    process = nil
  }

  func addService(_ name: String) throws -> Participant {
    try Participant(name: name, url: "redis://127.0.0.1:\(port)?label=\(name)", log: logHandle)
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
    guard let path = ChildProcess.path(of: "redis-cli") else { throw DemoError("redis-cli is not installed.") }
    let process = try ChildProcess(path, ["-p", "\(port)"] + arguments, log: logHandle)
    var output: [String] = []
    for await line in process.lines { output.append(line) }
    guard try await process.end() == 0 else { throw DemoError("redis-cli failed: \(output.joined(separator: " "))") }
    return output.joined(separator: "\n")
  }

  /// Starts the server on a port below those that the system gives to clients, so that it is still free when the
  /// server starts again.
  private static func launchOnFreePort(
    _ executable: String,
    folder: URL,
    log: FileHandle
  ) async throws -> (ChildProcess, Int) {
    for _ in 0..<portAttempts {
      let port = Int.random(in: 10_000..<32_000)
      if let process = try await launch(executable, port: port, folder: folder, log: log) { return (process, port) }
    }
    throw DemoError("redis-server starts on no port; its log is in \(folder.path)/log.")
  }

  /// Starts the server, and returns when it is ready; `nil` when it ended instead.
  private static func launch(
    _ executable: String,
    port: Int,
    folder: URL,
    log: FileHandle
  ) async throws -> ChildProcess? {
    // The shell ends the server when its own input ends, so that the server never outlives the demonstration.
    let script = #""$@" </dev/null & exec >&2; read -r _; kill $!; wait $!"#
    let options = ["--bind", "127.0.0.1", "--port", "\(port)", "--dir", folder.path, "--appendonly", "yes"]
    let process = try ChildProcess("/bin/sh", ["-c", script, "sh", executable] + options, log: log)
    let isReady = try await within(.seconds(15), "redis-server to start") {
      for await line in process.lines where line.contains("eady to accept connections") { return true }
      return false
    }
    if isReady { return process }
    _ = try await process.end()
    return nil
  }
}
