extension Shared {
  /// Asserts how a test has changed this value.
  ///
  /// ```swift
  /// model.incrementButtonTapped()
  /// model.$count.assert { $0 = 1 }
  /// ```
  ///
  /// The change has to be tracked, by a ``SharedChangeTracker`` or the trait of the test. The value itself stays as it
  /// is: no observer is told, and nothing is saved. The change counts as asserted then, even if the assertion fails.
  /// For a derived share, that is the change of its part.
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
    guard let failure = try projection.place.settle(updateToExpectedResult) else { return }
    location.report(failure)
  }

  /// Ignores how a test has changed this value up to now; of a derived share, how it has changed its part.
  public func skipChanges() {
    _ = projection.place.settle { _ in }
  }
}

extension Place {
  /// Compares the expected value with the present one, and counts the change as asserted.
  ///
  /// - Returns: The text of the failure; `nil` when the expectation is met.
  fileprivate func settle(_ updateToExpectedResult: (inout Value) throws -> Void) rethrows -> String? {
    guard let (tracker, change) = box.trackedChange() else { return ChangeAssertion.nothingChanged }
    let whole = change.makeExpectation()
    guard let before = value(expectedBy: whole) else { return ChangeAssertion.nothingChanged }
    var expected = before
    try updateToExpectedResult(&expected)
    let actual = read()
    whole.withExpectedValueInPlace {
      _ = modifyLocked { value in
        value = actual
        return true
      }
    }
    tracker.replaceChange(of: box, by: whole.remainingChange(at: change.location))
    if !Difference.areEqual(expected, actual) {
      return ChangeAssertion.unexpected(expected: expected, actual: actual)
    }
    return Difference.areEqual(before, actual) ? ChangeAssertion.nothingChanged : nil
  }
}

extension Box {
  /// The tracked change, as known to the innermost tracker that knows of one.
  fileprivate func trackedChange() -> (SharedChangeTracker, TrackedChange)? {
    lock.side.lock()
    let attached = trackers.all
    lock.side.unlock()
    var found: (tracker: SharedChangeTracker, change: TrackedChange)?
    for tracker in attached {
      guard let change = tracker.change(of: self) else { continue }
      if let found, found.tracker.isInside(tracker) { continue }
      found = (tracker, change)
    }
    return found
  }
}
