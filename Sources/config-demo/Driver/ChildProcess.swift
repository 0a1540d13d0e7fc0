import Foundation

/// A program that the demonstration has started. It reads and writes lines, and ends when its input does.
final class ChildProcess: Sendable {
  /// What it prints, line by line; ends with the program.
  let lines: AsyncStream<String>

  private let input: FileHandle
  private let exitStatus: AsyncStream<Int32>

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - executable: Its path.
  ///   - environment: Added to the environment of this process.
  ///   - log: Where its standard error goes.
  init(_ executable: String, _ arguments: [String], environment: [String: String] = [:], log: FileHandle) throws {
    let (input, output) = (Pipe(), Pipe())
    // A copy of our end of a pipe in another child would keep this child's input open.
    for file in [input.fileHandleForWriting, output.fileHandleForReading] {
      _ = fcntl(file.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    let (exitStatus, exited) = AsyncStream.makeStream(of: Int32.self)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = output
    process.standardError = log
    process.terminationHandler = { process in
      exited.yield(process.terminationStatus)
      exited.finish()
    }
    try Self.withSignalsUnblocked { try process.run() }
    self.input = input.fileHandleForWriting
    self.exitStatus = exitStatus
    lines = Self.lines(of: output.fileHandleForReading)
  }

  /// Hands a line to the program.
  func send(_ line: String) throws {
    try input.write(contentsOf: Data("\(line)\n".utf8))
  }

  /// Ends the program's input, and returns its exit status once it has ended.
  func end() async throws -> Int32 {
    try input.close()
    return try await within(.seconds(15), "a program to end") { [exitStatus] in
      for await status in exitStatus { return status }
      throw CancellationError()
    }
  }

  /// The path of a program, if it is installed.
  static func path(of program: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(program)" }.first(where: FileManager.default.isExecutableFile(atPath:))
  }

  /// Swift's own threads block most signals, and a child that one of them starts would never see a SIGTERM.
  private static func withSignalsUnblocked(_ operation: () throws -> Void) rethrows {
    var (none, previous) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    try operation()
  }

  /// Reading blocks, so it has a thread of its own.
  private static func lines(of file: FileHandle) -> AsyncStream<String> {
    AsyncStream { lines in
      Thread.detachNewThread {
        var rest = Data()
        while case let data = file.availableData, !data.isEmpty {
          rest += data
          while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            lines.yield(String(decoding: rest[..<end], as: UTF8.self))
            rest = Data(rest[(end + 1)...])
          }
        }
        lines.finish()
      }
    }
  }
}
