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
