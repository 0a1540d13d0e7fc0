public import Foundation

/// Why a run of a ``TestWorld`` was given up.
public struct TestWorldError: Error, LocalizedError, CustomStringConvertible {
  /// What has happened, and who waits.
  public let description: String

  init(_ failure: WorldSchedule.Failure, now: Duration, timeLimit: Duration, waiting: [String]) {
    let reason =
      switch failure {
      case .everybodyWaits: "At \(now) everybody waits, and nobody is left who could go on."
      case .timeIsOver: "The body of the test has not ended within \(timeLimit) of the world's time, its 'timeLimit'."
      case .runsOn: "The body of the test has not ended within a million steps: somebody runs on and on."
      }
    description = ([reason, "Who waits:"] + waiting.map { "    \($0)" }).joined(separator: "\n")
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
