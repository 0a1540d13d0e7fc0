import Synchronization

/// Compares the state that a test expects with the actual one, when both hold the same shares.
///
/// Values that have changed since the action are seen as they were right after it.
package final class SharedChangeComparison: Sendable {
  /// The changes that the action has made.
  private let changes: SharedChanges
  /// Changes that were not made by an action, and are not asserted yet.
  private let loose: SharedChanges
  /// The changes that later actions have made.
  private let later: [SharedChanges]
  /// Sees changes that are not made by an action and not in `loose` yet.
  private let tracker: SharedChangeTracker
  private let isExhaustive: Bool
  private let assertion: ChangeAssertion
  private let compared = Mutex<Set<ObjectIdentifier>>([])

  /// - Parameters:
  ///   - changes: The changes that the action has made.
  ///   - loose: Changes that were not made by an action, and are not asserted yet.
  ///   - later: The changes that later actions have made.
  ///   - tracker: Sees further changes that are not made by an action.
  ///   - isExhaustive: Whether values that the test does not mention are expected to be as before the action.
  package init(
    of changes: SharedChanges,
    loose: SharedChanges,
    later: [SharedChanges],
    tracker: SharedChangeTracker,
    isExhaustive: Bool
  ) {
    self.changes = changes
    self.loose = loose
    self.later = later
    self.tracker = tracker
    self.isExhaustive = isExhaustive
    assertion = ChangeAssertion(startingAt: { box in
      if let entry = changes.first(of: box) {
        return (isExhaustive ? entry.before : entry.after).makeExpectation()
      }
      if isExhaustive, let entry = loose.first(of: box) { return entry.before.makeExpectation() }
      for changes in later {
        if let entry = changes.first(of: box) { return entry.before.makeExpectation() }
      }
      if isExhaustive, let change = tracker.change(of: box) { return change.makeExpectation() }
      return box.expectationOfNoChange()
    })
  }

  /// Runs the closure in which the test states its expectations.
  package func expect(_ update: () throws -> Void) rethrows {
    try ChangeTracking.withAssertion(assertion, update)
  }

  /// Whether the test has stated how a share changes.
  package var mentionsAnything: Bool { !assertion.stated.isEmpty }

  /// Runs a closure that compares the expected state with the actual one, in this order.
  package func compare<Result>(_ body: () throws -> Result) rethrows -> Result {
    ChangeTracking.openScope()
    defer { ChangeTracking.closeScope() }
    return try ChangeTracking.$comparison.withValue(self, operation: body)
  }

  /// The failures of shares that the states do not hold, and of statements that made no difference. Only a failure of a
  /// statement has a location.
  package var failures: [ChangeFailure] {
    let stated = assertion.stated
    let compared = compared.withLock { $0 }
    var failures: [ChangeFailure] = []
    for entry in changes.entries where stated[ObjectIdentifier(entry.box)] == nil {
      guard isExhaustive, !compared.contains(ObjectIdentifier(entry.box)) else { continue }
      let expectation = entry.before.makeExpectation()
      if let failure = expectation.failure(actual: entry.after, isStated: false, mayBeUnchanged: true) {
        failures.append(ChangeFailure(message: failure, location: nil))
      }
    }
    for (id, expectation) in stated {
      let actual = after(expectation.box)
      guard let failure = expectation.failure(actual: actual, isStated: true, mayBeUnchanged: !isExhaustive)
      else { continue }
      // The comparison of the states has reported it.
      if compared.contains(id), failure != ChangeAssertion.nothingChanged { continue }
      failures.append(ChangeFailure(message: failure, location: expectation.statement))
    }
    return failures
  }

  /// The changes without an action that are left, without those that the test has mentioned.
  package func remaining(of loose: SharedChanges) -> SharedChanges {
    var remaining = loose
    for expectation in assertion.stated.values { remaining.removeAll(of: expectation.box) }
    return remaining
  }

  /// Lets the tracker forget the changes that the test has mentioned.
  package func settle() {
    for box in assertion.stated.values.map(\.box)
    where !later.contains(where: { $0.first(of: box) != nil }) {
      tracker.replaceChange(of: box, by: nil)
    }
  }

  /// The value right after the action.
  private func after(_ box: Box) -> any TrackedChange {
    if let entry = changes.last(of: box) { return entry.after }
    for changes in later {
      if let entry = changes.first(of: box) { return entry.before }
    }
    box.lock.lock(for: box)
    defer { box.unlock() }
    return box.makeChange(at: nil)
  }

  /// The expected and the actual value of a part of a shared value.
  func sides<Value>(of place: Place<Value>) -> (expected: Value, actual: Value)? {
    let box = place.box
    _ = compared.withLock { $0.insert(ObjectIdentifier(box)) }
    let after = after(box)
    let expectation =
      assertion.stated[ObjectIdentifier(box)]
      ?? (isExhaustive ? changes.first(of: box)?.before.makeExpectation() : nil)
      ?? after.makeExpectation()
    guard let expected = place.value(expectedBy: expectation),
      let actual = place.value(expectedBy: after.makeExpectation())
    else { return nil }
    return (expected, actual)
  }
}
