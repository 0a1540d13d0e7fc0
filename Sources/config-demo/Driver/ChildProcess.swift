import Foundation
import Subprocess

/// A program that the demonstration has started. It reads and writes lines, and ends when its input does.
struct ChildProcess: Sendable {
  /// Its output, line by line; ends with the output.
  let lines: AsyncStream<String>

  private let input: AsyncStream<String>.Continuation
  private let run: Task<TerminationStatus, any Error>

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - program: Its name. It is in a folder of `PATH`.
  ///   - environment: Added to the environment of this process.
  ///   - log: Where its standard error goes.
  init(_ program: String, _ arguments: [String], environment: [Environment.Key: String] = [:], log: FileHandle) {
    let (commands, input) = AsyncStream.makeStream(of: String.self)
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    self.input = input
    self.lines = lines
    run = Task {
      // For a program that does not start.
      defer { line.finish() }
      return try await Subprocess.run(
        .name(program),
        arguments: Arguments(arguments),
        environment: .inherit.updating(environment),
        platformOptions: Self.ownGroup,
        input: .inputWriter,
        output: .sequence,
        error: .sequence
      ) { execution in
        async let printing: Void = {
          defer { line.finish() }
          for try await text in execution.standardOutput.strings() { line.yield(text) }
        }()
        async let logging: Void = {
          for try await text in execution.standardError.strings() { log.writeLine(text) }
        }()
        for await command in commands { _ = try await execution.standardInputWriter.write("\(command)\n") }
        try await execution.standardInputWriter.finish()
        _ = try await (printing, logging)
      }.terminationStatus
    }
  }

  /// Hands a line to the program.
  func send(_ line: String) {
    input.yield(line)
  }

  /// Ends the program's input, and returns its status once it has ended.
  func end() async throws -> TerminationStatus {
    input.finish()
    return try await within(.seconds(15), "a program to end") { [run] in
      try await withTaskCancellationHandler {
        try await run.value
      } onCancel: {
        run.cancel()
      }
    }
  }

  /// Whether a program is in a folder of `PATH`.
  static func isInstalled(_ program: String) async -> Bool {
    await (try? Executable.name(program).resolveExecutablePath(in: .inherit)) != nil
  }

  /// Has a cancelled program end together with those that it has started itself.
  private static var ownGroup: PlatformOptions {
    var options = PlatformOptions()
    options.processGroupID = 0
    options.teardownSequence = [.gracefulShutDown(toProcessGroup: true, allowedDurationToNextStep: .seconds(5))]
    return options
  }
}
