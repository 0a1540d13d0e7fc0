import Foundation
import IssueReporting
import Synchronization

/// The expectations that a closure of ``SharedChangeTracker/assert(_:fileID:filePath:line:column:)-swift.method``
/// states, one for each box that it mutates.
final class ChangeAssertion: Sendable {
  private let find: @Sendable (Box) -> (any Expectation)?
  private let expectations = Mutex<[ObjectIdentifier: any Expectation]>([:])

  init(of tracker: SharedChangeTracker) {
    find = { tracker.change(of: $0)?.makeExpectation() }
  }

  /// An assertion of changes that any tracker has seen.
  init() {
    find = { $0.trackedChange()?.change.makeExpectation() }
  }

  /// An assertion whose expectations begin with those that a closure finds.
  init(startingAt find: @escaping @Sendable (Box) -> any Expectation) {
    self.find = find
  }

  /// The expectations that were stated, by box.
  var stated: [ObjectIdentifier: any Expectation] { expectations.withLock { $0 } }

  /// The expectation of the box, which at first is the value before its first change.
  func expectation(of box: Box) -> any Expectation {
    let id = ObjectIdentifier(box)
    let made = presentExpectation(of: box) ?? box.expectationOfNoChange()
    return expectations.withLock { expectations in
      let expectation = expectations[id] ?? made
      expectations[id] = expectation
      return expectation
    }
  }

  /// The expectation of the box so far; `nil` when it has not changed, and no change of it was stated.
  func presentExpectation(of box: Box) -> (any Expectation)? {
    let stated = expectations.withLock { $0[ObjectIdentifier(box)] }
    return stated ?? find(box)
  }

  /// The failures of the stated expectations, and of the changes without one.
  func failures(changes: [any TrackedChange]) -> [ChangeFailure] {
    var stated = expectations.withLock { $0 }
    let inOrder = changes.map { change in
      let expectation = stated.removeValue(forKey: ObjectIdentifier(change.box))
      let message = (expectation ?? change.makeExpectation()).failure(isStated: expectation != nil)
      return message.map { ChangeFailure(message: $0, location: expectation?.statement ?? change.location) }
    }
    return (inOrder + stated.values.map { $0.failureOfStatement() }).compactMap(\.self)
  }

  /// The text of a failure: a change was asserted, but the value did not change.
  static var nothingChanged: String { "Expected state to change, but no change occurred." }

  /// The text of a failure: the value is not the expected one.
  static func unexpected<Value>(expected: Value, actual: Value, isStated: Bool = true) -> String {
    """
    \(isStated
      ? "A state change does not match expectation" : "State was not expected to change, but a change occurred"): …

    \(Difference.text(expected, actual, indentation: 4))

    (Expected: −, Actual: +)
    """
  }
}

extension Box {
  func expectationOfNoChange() -> any Expectation {
    lock.lock(for: self)
    defer { unlock() }
    return makeChange(at: nil).makeExpectation()
  }
}

/// Whether a failed assertion can be reported to the test.
enum AssertionSupport {
  /// Ends the program in a test that gets no reports: it would pass, whatever it asserts.
  static func require() {
    precondition(
      isLinked || !isTesting,
      """
      An assertion of shared state cannot fail this test, because the test target does not link the library that \
      reports failures. Add the product 'SharedStateTesting' of the package 'swift-shared-state' to the dependencies of \
      the test target.
      """
    )
  }

  /// The support is found as IssueReporting finds it: by the name of its function that records an issue.
  private static let isLinked: Bool = {
    dlsym(UnsafeMutableRawPointer(bitPattern: 0), "$s25IssueReportingTestSupport07_recordA0ypyF") != nil
  }()
}
