import SharedStateDependencies
import Synchronization
import Testing
import XCTest

/// Tells the module SharedStateDependencies, which links no test framework, in which test it is used.
///
/// Found at run time by its name: linking this module into a test target is all it takes. Package access keeps the
/// optimiser from removing what seems unused.
package final class CurrentTest: TestRunProvider {
  /// One case of one test.
  private struct Identity: Hashable, Sendable {
    let test: Test.ID
    let `case`: CaseIdentity?
  }

  /// The identity of the test and the case that the current task belongs to.
  package static var currentTestRun: AnyHashable? {
    _ = observation
    guard let test = Test.current else { return nil }
    hasSeenTest.store(true, ordering: .relaxed)
    return Identity(test: test.id, case: Test.Case.current.flatMap(CaseIdentity.init))
  }

  package static func reportBesideTests(_ message: String) -> Bool {
    guard Test.current == nil, hasSeenTest.load(ordering: .relaxed), !runsXCTest.load(ordering: .relaxed) else {
      return false
    }
    Issue.record(Comment(rawValue: message))
    return true
  }

  /// Whether there was a test of Swift Testing.
  private static let hasSeenTest = Atomic(false)
  private static let runsXCTest = Atomic(false)

  /// Starts watching XCTest, once.
  private static let observation: Void = XCTestObservationCenter.shared.addTestObserver(Observer())

  /// Gives every test of XCTest fresh values: they run one after the other, and share the cache of the process.
  private final class Observer: NSObject, XCTestObservation {
    // XCTest ends the program when somebody records a failure now, as a deinitialiser of a value may. The next test, or
    // the suite, can have it.
    private var ended: (any Sendable)?

    func testCaseDidFinish(_ testCase: XCTestCase) {
      ended = DependencyCache.process.reset()
      runsXCTest.store(false, ordering: .relaxed)
    }

    func testCaseWillStart(_ testCase: XCTestCase) {
      ended = nil
      runsXCTest.store(true, ordering: .relaxed)
    }

    func testSuiteDidFinish(_ testSuite: XCTestSuite) {
      ended = nil
    }
  }
}
