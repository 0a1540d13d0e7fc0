import IssueReporting

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
