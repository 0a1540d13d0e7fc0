import Dispatch
import Foundation
import IssueReporting

/// An error of a store that may tell of it itself.
package protocol StoreError: Error {
  /// Whether the store tells of it, since it concerns all of its values.
  var isToldByStore: Bool { get }
}

/// In debug builds an error that nobody reads is reported once: when the last share is gone, or, outside of tests, when
/// it has been there for a second.
extension Box {
  private static let patience = 1.0

  /// Whoever awaits the operation takes its error.
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
      // In a test somebody may read it until the share is gone, which is soon.
      guard !isTesting else { return }
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { [weak self] in self?.reportUnreadError() }
    #endif
  }

  final func reportUnreadError() {
    #if DEBUG
      guard let error = takeUnreadError(), let persistence, persistence.reportsUnreadErrors else { return }
      let operation = error.isOfLoad ? ("loaded", "loadError", "load()") : ("saved", "saveError", "save()")
      let remedy = "Read its '\(operation.1)', or await '\(operation.2)' and handle what that throws."
      let message = "'\(name)' could not be \(operation.0), and nobody has read why. \(remedy)"
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

/// Tells the test that the caller runs in of something.
package enum TestIssue {
  /// Fails the test.
  ///
  /// - Returns: Whether it is certain that a test is told. It is not outside of tests, nor where a test of XCTest may run:
  ///   on a thread that a test of Swift Testing has started itself it looks the same, and the report is lost.
  package static func report(_ message: String) -> Bool {
    guard let context = TestContext.current else { return false }
    reportIssue(message)
    if case .swiftTesting(_?) = context { return true }
    return false
  }
}
