import Foundation
import SharedStateDependencies
import SharedStateRedis
import SharedStateRedisTesting
import Subprocess

@testable import ChaosService

/// A service in its own process. The process lives as long as ``run(url:index:_:)``.
struct ServiceProcess: Sendable {
  private let commands = AsyncStream.makeStream(of: String.self)
  private let answers = AsyncStream.makeStream(of: [RedisHistory.Rest.Held].self)

  /// Runs the service until ``end()``. Cancelling the task kills it.
  ///
  /// - Parameter history: Records what the service does and sees, in order.
  func run(url: String, index: Int, _ history: ChaosHistory) async throws {
    _ = try await Subprocess.run(
      .name("ChaosService"),
      arguments: [url, String(index)],
      environment: .ofThisPackage,
      input: .inputWriter,
      output: .sequence,
      error: .currentStandardError
    ) { execution in
      async let reading: Void = read(execution.standardOutput, history)
      for await command in commands.stream { _ = try await execution.standardInputWriter.write("\(command)\n") }
      try await execution.standardInputWriter.finish()
      try await reading
    }
  }

  /// Has the service carry out a command, and returns the contents of its boxes afterwards.
  func perform(_ command: String) async throws -> [RedisHistory.Rest.Held] {
    commands.continuation.yield(command)
    return try await Deadline.run(within: patience) { [answers] in
      for await boxes in answers.stream { return boxes }
      throw ChaosFailure("A service has ended during '\(command)'.")
    } onTimeout: {
      ChaosFailure("A service did not answer to '\(command)'.")
    }
  }

  /// Ends the input of the service, which then ends.
  func end() {
    commands.continuation.finish()
  }

  private func read(_ output: SubprocessOutputSequence, _ history: ChaosHistory) async throws {
    defer { answers.continuation.finish() }
    let decoder = JSONDecoder()
    for try await line in output.strings(bufferingPolicy: .unbounded) {
      switch try? decoder.decode(ChaosEvent.self, from: Data(line.utf8)) {
      case .recorded(let event): history.record(event)
      case .answered(let boxes): answers.continuation.yield(boxes)
      case nil: break
      }
    }
  }
}
