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
