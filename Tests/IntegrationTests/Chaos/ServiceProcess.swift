import Foundation
import SharedStateRedis
import Synchronization

@testable import ChaosService

/// A service in a process of its own, which ends with this object, and with us.
final class ServiceProcess: Sendable {
  private let input: FileHandle
  private let answers: AsyncStream<ChaosReport>
  private let recorded: Mutex<ServiceHistory>

  /// Starts a service.
  init(url: String, index: Int, isOrdered: Bool) throws {
    recorded = Mutex(ServiceHistory(isOrdered: isOrdered))
    let (input, output) = (Pipe(), Pipe())
    // A copy of our end of a pipe in another child would keep this child's input open.
    for file in [input.fileHandleForWriting, output.fileHandleForReading] {
      _ = fcntl(file.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    let process = Process()
    // It is built beside this program. /proc is the only place that knows where that is.
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("ChaosService")
    process.arguments = [url, String(index)]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    self.input = input.fileHandleForWriting
    let (answers, answer) = AsyncStream.makeStream(of: ChaosReport.self)
    self.answers = answers
    let file = output.fileHandleForReading
    // Reading blocks, so it has a thread of its own.
    Thread.detachNewThread { [weak self] in
      Self.read(file) { event in
        self?.recorded.withLock { $0.record(event) }
        if case .answered(let report) = event { answer.yield(report) }
      }
      answer.finish()
    }
  }

  deinit {
    try? input.close()
  }

  var history: ServiceHistory { recorded.withLock { $0 } }

  /// Hands the service a command, and returns what it has once it has carried it out.
  func perform(_ command: String) async throws -> ChaosReport {
    try input.write(contentsOf: Data("\(command)\n".utf8))
    return try await Deadline.run(within: patience) { [answers] in
      for await report in answers { return report }
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
