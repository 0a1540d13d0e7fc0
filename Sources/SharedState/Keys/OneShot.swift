public import Foundation
import IssueReporting
import Synchronization

/// A callback that has to be called exactly once: twice, or never, is reported as an issue.
final class OneShot<Outcome: Sendable>: Sendable {
  private let isUsed = Atomic(false)
  private let description: String
  private let report: @Sendable (String) -> Void
  private let callback: @Sendable (Result<Outcome, any Error>) -> Void

  init(
    _ description: String,
    report: @escaping @Sendable (String) -> Void = { reportIssue($0) },
    callback: @escaping @Sendable (Result<Outcome, any Error>) -> Void
  ) {
    self.description = description
    self.report = report
    self.callback = callback
  }

  func resume(with result: Result<Outcome, any Error>) {
    guard !isUsed.exchange(true, ordering: .relaxed) else {
      report("\(description) was resumed more than once. Resume a continuation exactly once.")
      return
    }
    callback(result)
  }

  deinit {
    guard !isUsed.load(ordering: .relaxed) else { return }
    report("\(description) was never resumed. Resume a continuation exactly once, also when nothing was done.")
    callback(.failure(ContinuationLeakedError(continuation: description)))
  }
}

/// A key released a continuation without resuming it.
///
/// The callback of the continuation takes this error. A share keeps its value, because the mistake was reported
/// already.
public struct ContinuationLeakedError: Error, Sendable, LocalizedError, CustomStringConvertible {
  let continuation: String

  /// Names the continuation that was dropped.
  public var description: String { "\(continuation) was dropped without being resumed." }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
