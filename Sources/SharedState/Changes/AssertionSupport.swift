import Foundation
import IssueReporting

/// Whether a test can be told of what it has done wrong.
enum AssertionSupport {
  /// Ends the program in a test that cannot be told: it would pass, whatever it asserts.
  static func require() {
    precondition(
      isLinked || !isTesting,
      """
      An assertion of shared state cannot fail this test, because the test target does not link what tells it of failures. \
      Add the product 'SharedStateTesting' of the package 'swift-shared-state' to the dependencies of the test target.
      """
    )
  }

  /// The support is found as IssueReporting finds it: by the name of its function that records an issue.
  private static let isLinked: Bool = {
    #if os(Linux) || os(Android)
      dlsym(UnsafeMutableRawPointer(bitPattern: 0), "$s25IssueReportingTestSupport07_recordA0ypyF") != nil
    #else
      // Elsewhere IssueReporting calls the test frameworks without it.
      true
    #endif
  }()
}
