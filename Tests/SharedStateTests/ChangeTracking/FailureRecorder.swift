import IssueReporting
import Synchronization

/// Takes the failures of a part of a test, so that the test itself does not fail.
final class FailureRecorder: IssueReporter {
  struct Failure: Sendable {
    let message: String
    let fileID: String
    let line: UInt
  }

  private let recorded = Mutex<[Failure]>([])

  var failures: [Failure] { recorded.withLock { $0 } }
  var messages: [String] { failures.map(\.message) }

  func reportIssue(
    _ message: @autoclosure () -> String?,
    severity: IssueSeverity,
    fileID: StaticString,
    filePath: StaticString,
    line: UInt,
    column: UInt
  ) {
    let failure = Failure(message: message() ?? "", fileID: "\(fileID)", line: line)
    recorded.withLock { $0.append(failure) }
  }

  /// The failures that the operation reports.
  static func failures(of operation: () throws -> Void) rethrows -> [Failure] {
    let recorder = FailureRecorder()
    try withIssueReporters([recorder]) { try operation() }
    return recorder.failures
  }

  /// The failures that the operation reports.
  static func failures(of operation: () async throws -> Void) async rethrows -> [Failure] {
    let recorder = FailureRecorder()
    try await withIssueReporters([recorder]) { try await operation() }
    return recorder.failures
  }
}
