import Foundation
import IssueReporting

/// Which test some code belongs to: the test's identity, and for a parameterised test that of the case.
struct TestRun: Hashable, @unchecked Sendable {
  // Unchecked, since `AnyHashable` hides that what it holds is Sendable: both sources give identities made of strings
  // and numbers.
  private let id: AnyHashable

  init(_ id: AnyHashable) {
    self.id = id
  }

  /// The test that the current task was started by, directly or through other tasks.
  ///
  /// Nil outside of tests, in detached tasks, on threads that a test has started itself, and in XCTest.
  static var current: TestRun? {
    guard let provider else { return issueReportingCurrent }
    return provider.currentTestRun.map(TestRun.init)
  }

  /// The same, as far as IssueReporting knows: it cannot tell the cases of a parameterised test apart.
  static var issueReportingCurrent: TestRun? {
    guard case .swiftTesting(let testing?) = TestContext.current else { return nil }
    return TestRun(testing.test.id)
  }

  /// What SharedStateTesting knows about tests, if it is part of the process.
  ///
  /// Found by its name, since this module links no test framework and the other cannot run code at launch.
  static let provider = NSClassFromString("SharedStateTesting.CurrentTest") as? any TestRunProvider.Type
}

/// Tells tests apart with the help of the test frameworks, which this module does not link.
///
/// The hook for SharedStateTesting: its class `CurrentTest` conforms, and is found by that name. Where that module is
/// missing, the cases of a parameterised test share their values, and so do all tests of XCTest.
package protocol TestRunProvider: AnyObject, SendableMetatype {
  /// The identity of the test and the case that the current task belongs to; nil when there is none.
  ///
  /// Made of Sendable parts. The conforming class also resets ``DependencyCache/process`` whenever a test of XCTest
  /// ends. May be called from any thread.
  static var currentTestRun: AnyHashable? { get }

  /// Fails the run because of something that no test can be blamed for, where tests of Swift Testing run.
  ///
  /// - Returns: Whether it did. Where a test of XCTest runs, everything belongs to it.
  static func reportBesideTests(_ message: String) -> Bool
}
