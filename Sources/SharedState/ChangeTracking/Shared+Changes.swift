extension Shared {
  /// Asserts how a test has changed this value.
  ///
  /// ```swift
  /// model.incrementButtonTapped()
  /// model.$count.assert { $0 = 1 }
  /// ```
  ///
  /// The change has to be tracked, by a ``SharedChangeTracker`` or the trait of the test. The value itself stays as it
  /// is: no observer is notified, and nothing is saved. The change counts as asserted then, even if the assertion
  /// fails. For a derived share, that is the change of its part.
  ///
  /// The closure sees the expected values of other shares, too, and asserts their changes with `withLock`.
  /// - Parameter updateToExpectedResult: Turns the value before the change into the expected one.
  /// - Throws: The error of the closure.
  public func assert(
    _ updateToExpectedResult: (inout Value) throws -> Void,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) rethrows {
    AssertionSupport.require()
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    for failure in try projection.place.settle(updateToExpectedResult) {
      failure.report(orAt: location)
    }
  }

  /// Ignores how a test has changed this value up to now; of a derived share, how it has changed its part.
  public func skipChanges() {
    _ = projection.place.settle { _ in }
  }
}

extension Place {
  /// Compares the expected value with the present one, and counts the change as asserted.
  ///
  /// - Returns: The failures; none when the expectation is met.
  fileprivate func settle(_ updateToExpectedResult: (inout Value) throws -> Void) rethrows -> [ChangeFailure] {
    let nothingChanged = [ChangeFailure(message: ChangeAssertion.nothingChanged, location: nil)]
    guard let (tracker, change) = box.trackedChange() else { return nothingChanged }
    let whole = change.makeExpectation()
    guard let before = value(expectedBy: whole) else { return nothingChanged }
    var expected = before
    let others = ChangeAssertion()
    try ChangeTracking.withAssertion(others) { try updateToExpectedResult(&expected) }
    let failures = others.stated.values.compactMap { other in
      other.box.trackedChange()?.tracker.replaceChange(of: other.box, by: nil)
      return other.failureOfStatement()
    }
    let actual = read()
    whole.withExpectedValueInPlace {
      _ = modifyLocked { value in
        value = actual
        return true
      }
    }
    tracker.replaceChange(of: box, by: whole.remainingChange(at: change.location))
    if !Difference.areEqual(expected, actual) {
      let message = ChangeAssertion.unexpected(expected: expected, actual: actual)
      return [ChangeFailure(message: message, location: nil)] + failures
    }
    return (Difference.areEqual(before, actual) ? nothingChanged : []) + failures
  }
}

extension Box {
  /// The tracked change, as known to the innermost tracker that knows of one.
  func trackedChange() -> (tracker: SharedChangeTracker, change: any TrackedChange)? {
    lock.side.lock()
    let attached = trackers.all
    lock.side.unlock()
    var found: (tracker: SharedChangeTracker, change: any TrackedChange)?
    for tracker in attached {
      guard let change = tracker.change(of: self) else { continue }
      if let found, found.tracker.isInside(tracker) { continue }
      found = (tracker, change)
    }
    return found
  }
}
