import Foundation
import IssueReporting

/// The test that code belongs to: the test's identity, and for a parameterised test that of the case.
struct TestRun: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right because both sources return identities made of strings and numbers, although
  // `AnyHashable` hides that they are Sendable.
  private let id: AnyHashable

  init(_ id: AnyHashable) {
    self.id = id
  }

  /// The test that the current task was started by, directly or through other tasks.
  ///
  /// `nil` outside of tests, in detached tasks, on threads that a test has started itself, and in XCTest.
  static var current: TestRun? {
    guard let provider else { return issueReportingCurrent }
    return provider.currentTestRun.map(TestRun.init)
  }

  /// The same, from IssueReporting, which cannot distinguish the cases of a parameterised test.
  static var issueReportingCurrent: TestRun? {
    guard case .swiftTesting(let testing?) = TestContext.current else { return nil }
    return TestRun(testing.test.id)
  }

  /// The knowledge of SharedStateTesting about tests, if that is part of the process.
  ///
  /// It is found by its name, because this module links no test framework, and the other cannot run code at launch.
  static let provider = NSClassFromString("SharedStateTesting.CurrentTest") as? any TestRunProvider.Type
}

/// Distinguishes tests with the help of the test frameworks, which this module does not link.
///
/// The hook for SharedStateTesting: its class `CurrentTest` conforms, and is found by that name. Without that module,
/// the cases of a parameterised test share their values, and so do all tests of XCTest.
package protocol TestRunProvider: AnyObject, SendableMetatype {
  /// The identity of the test and the case that the current task belongs to; `nil` when there is none.
  ///
  /// It is made of Sendable parts. The conforming class also resets ``DependencyCache/process`` whenever a test of
  /// XCTest ends. May be called from any thread.
  static var currentTestRun: AnyHashable? { get }

  /// Fails the run for a fault that belongs to no test, when tests of Swift Testing run.
  ///
  /// - Returns: Whether it did. When a test of XCTest runs, everything belongs to that.
  static func reportBesideTests(_ message: String) -> Bool
}
