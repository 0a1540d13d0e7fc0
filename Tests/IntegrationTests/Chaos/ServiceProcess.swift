import Foundation
import SharedStateRedis
import SharedStateRedisTesting

@testable import ChaosService

/// A service in its own process, which ends with this object and with the test process.
final class ServiceProcess: Sendable {
  private let input: FileHandle
  private let answers: AsyncStream<[History.Rest.Held]>

  /// Starts a service.
  ///
  /// - Parameter history: Records what the service does and sees, in order, on another thread.
  init(url: String, index: Int, _ history: ChaosHistory) throws {
    let (input, output) = (Pipe(), Pipe())
    // If another child inherited our end of a pipe, this child's input would stay open.
    for file in [input.fileHandleForWriting, output.fileHandleForReading] {
      _ = fcntl(file.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLineTool.program("ChaosService"))
    process.arguments = [url, String(index)]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    self.input = input.fileHandleForWriting
    let (answers, answer) = AsyncStream.makeStream(of: [History.Rest.Held].self)
    self.answers = answers
    let file = output.fileHandleForReading
    // Reading blocks, so it runs on its own thread.
    Thread.detachNewThread {
      Self.read(file) { event in
        switch event {
        case .recorded(let event): history.record(event)
        case .withdrew(let box, let revision): history.withdraw(box, from: revision)
        case .answered(let boxes): answer.yield(boxes)
        }
      }
      answer.finish()
    }
  }

  deinit {
    try? input.close()
  }

  /// Has the service carry out a command, and returns the contents of its boxes afterwards.
  func perform(_ command: String) async throws -> [History.Rest.Held] {
    try input.write(contentsOf: Data("\(command)\n".utf8))
    return try await Deadline.run(within: patience) { [answers] in
      for await boxes in answers { return boxes }
      throw ChaosFailure("A service has ended during '\(command)'.")
    } onTimeout: {
      ChaosFailure("A service did not answer to '\(command)'.")
    }
  }

  private static func read(_ file: FileHandle, _ handle: (ChaosEvent) -> Void) {
    let decoder = JSONDecoder()
    var rest = Data()
    while case let data = file.availableData, !data.isEmpty {
      rest += data
      let lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      for line in lines.dropLast() {
        guard let event = try? decoder.decode(ChaosEvent.self, from: Data(line)) else { continue }
        handle(event)
      }
      rest = Data(lines.last ?? Data())
    }
  }
}
