import Synchronization

/// An issue of a default that was read only to be changed. It is reported when the default is used.
final class PostponedIssue: Sendable {
  /// The issue of the default that is being evaluated, if it is not used yet.
  @TaskLocal static var current: PostponedIssue?

  private let message = Mutex<String?>(nil)
  private let hasSkippedReport = Atomic(false)

  /// Whether the default has to be made again for a use: it may have an issue of its own, which it has not reported.
  var isIncomplete: Bool { hasSkippedReport.load(ordering: .relaxed) }

  /// Notes that the default does not report an issue of its own.
  func skipReport() {
    hasSkippedReport.store(true, ordering: .relaxed)
  }

  /// Keeps a message for later.
  func set(_ message: String) {
    self.message.withLock { $0 = message }
  }

  /// Reports the message, if there is one.
  func report() {
    guard let message = message.withLock(\.self) else { return }
    DependencyAccess.report(message)
  }
}
