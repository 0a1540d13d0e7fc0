import Dispatch
import Foundation
import IssueReporting
import SharedStateDependencies
import Synchronization

/// An error that a store may report itself.
package protocol StoreError: Error {
  /// Whether the store reports it, because it concerns all of the store's values.
  var isReportedByStore: Bool { get }
}

/// In debug builds an error that is not read is reported once: when the last share is released, or, outside of tests, a
/// second after the error.
extension Box {
  private static let patience = 1.0

  /// Counts the operation's error as read, because the caller gets it.
  final func handingErrorsOver<Result>(_ operation: () async throws -> Result) async throws -> Result {
    do {
      return try await operation()
    } catch {
      noteErrorsAreRead()
      throw error
    }
  }

  final func reportUnreadErrorLater() {
    #if DEBUG
      // A test may still read it until the last share is released, which happens soon.
      guard !isTesting else { return }
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { [weak self] in self?.reportUnreadError() }
    #endif
  }

  final func reportUnreadError() {
    #if DEBUG
      guard let error = takeUnreadError(), let persistence, persistence.reportsUnreadErrors else { return }
      let operation = error.isOfLoad ? ("loaded", "loadError", "load()") : ("saved", "saveError", "save()")
      let remedy = "Read its '\(operation.1)', or await '\(operation.2)' and handle what that throws."
      let message = "'\(name)' could not be \(operation.0), and its error was not read. \(remedy)"
      let switchText = "'\\.reportsUnreadErrors' turns this off."
      if !TestIssue.report("\(message) \(switchText)\n\n\(error.error)") {
        persistence.errorIsUnread("\(message) \(switchText)")
      }
    #endif
  }
}

extension BoxPersistence {
  package func errorIsUnread(_ message: String) {
    try? FileHandle.standardError.write(contentsOf: Data("SharedState: \(message)\n".utf8))
  }
}

/// A change that could not be written after the last share was released: no share has the error.
enum LostChange {
  private static let lastReport = Mutex<ContinuousClock.Instant?>(nil)

  /// Reports the first loss on standard error, and further ones at most once a minute.
  static func report(_ error: any Error, of key: Any.Type) {
    // User defaults hold the value, and write it with the next one.
    guard !(error is AppStorageError), DependencyValues.current.reportsUnreadErrors else { return }
    let isNews = lastReport.withLock { last in
      if let last, .now < last + .seconds(60) { return false }
      last = .now
      return true
    }
    guard isNews else { return }
    // The description of another error may contain the value.
    let reason = (error as? FileStorageError)?.description ?? "an error of type '\(type(of: error))'"
    let message = """
      SharedState: The last change of a value with a '\(key)' was lost, because its last share was released before it \
      could be saved. Await 'save()' before that. '\\.reportsUnreadErrors' turns this report off. The reason: \(reason)

      """
    try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
  }
}

/// Reports an issue to the test that the caller runs in.
package enum TestIssue {
  /// Fails the test.
  ///
  /// - Returns: Whether a test is certain to get the report. That is uncertain outside of tests, and wherever an XCTest
  ///   test may be running: a thread that a Swift Testing test has started looks the same, and a report from there is
  ///   lost.
  package static func report(_ message: String) -> Bool {
    guard let context = TestContext.current else { return false }
    reportIssue(message)
    if case .swiftTesting(_?) = context { return true }
    return false
  }
}
