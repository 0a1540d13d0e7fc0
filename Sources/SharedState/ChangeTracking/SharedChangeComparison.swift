import Synchronization

/// Compares what a test expects of a state with what the state was, when both hold the same shares.
///
/// Values that have changed since then are seen as they were at that moment.
package final class SharedChangeComparison: Sendable {
  /// What the action has changed.
  private let changes: SharedChanges
  /// What nobody has asserted yet, of what no action has changed.
  private let loose: SharedChanges
  /// What later actions have changed.
  private let later: [SharedChanges]
  /// Sees what no action has changed and what is not in `loose` yet.
  private let tracker: SharedChangeTracker
  private let isExhaustive: Bool
  private let assertion: ChangeAssertion
  private let compared = Mutex<Set<ObjectIdentifier>>([])

  /// - Parameters:
  ///   - changes: What the action has changed.
  ///   - loose: What no action has changed and nobody has asserted.
  ///   - later: What later actions have changed.
  ///   - tracker: Sees what else no action has changed.
  ///   - isExhaustive: Whether what the test does not mention is expected to be as before the action.
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

  /// Runs the closure in which the test says what it expects.
  package func expect(_ update: () throws -> Void) rethrows {
    try ChangeTracking.withAssertion(assertion, update)
  }

  /// Whether the test has said how a share changes.
  package var mentionsAnything: Bool { !assertion.stated.isEmpty }

  /// Runs something that compares the expected state with the actual one, in this order.
  package func compare<Result>(_ body: () throws -> Result) rethrows -> Result {
    ChangeTracking.openScope()
    defer { ChangeTracking.closeScope() }
    return try ChangeTracking.$comparison.withValue(self, operation: body)
  }

  /// What is wrong with shares that the states do not hold, and with what the test has said that made no difference.
  package var failures: [String] {
    let stated = assertion.stated
    let compared = compared.withLock { $0 }
    var failures: [String] = []
    for entry in changes.entries where stated[ObjectIdentifier(entry.box)] == nil {
      guard isExhaustive, !compared.contains(ObjectIdentifier(entry.box)) else { continue }
      if let failure = entry.before.makeExpectation().failure(actual: entry.after, isExplicit: false) {
        failures.append(failure)
      }
    }
    for (id, expectation) in stated {
      let actual = after(expectation.box)
      guard let failure = expectation.failure(actual: actual, isExplicit: isExhaustive) else { continue }
      // The comparison of the states has said so.
      if compared.contains(id), failure != ChangeAssertion.nothingChanged { continue }
      failures.append(failure)
    }
    return failures
  }

  /// What is left of the changes that no action has made, without what the test has mentioned.
  package func remaining(of loose: SharedChanges) -> SharedChanges {
    var remaining = loose
    for expectation in assertion.stated.values { remaining.removeAll(of: expectation.box) }
    return remaining
  }

  /// Lets the tracker forget what the test has mentioned.
  package func settle() {
    for box in assertion.stated.values.map(\.box)
    where !later.contains(where: { $0.first(of: box) != nil }) {
      tracker.replaceChange(of: box, by: nil)
    }
  }

  /// What the value was at the moment.
  private func after(_ box: Box) -> TrackedChange {
    if let entry = changes.last(of: box) { return entry.after }
    for changes in later {
      if let entry = changes.first(of: box) { return entry.before }
    }
    box.lock.lock()
    defer { box.unlock() }
    return box.makeChange(at: nil)
  }

  /// What a part of a shared value is expected to be, and what it was.
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
