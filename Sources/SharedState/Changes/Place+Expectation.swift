extension Place {
  /// What the value is expected to be, by the assertion that this task is in the middle of; `nil` when there is none, and
  /// when the value has not changed.
  var expectedValue: Value? {
    guard let expectation = ChangeTracking.currentAssertion?.presentExpectation(of: reference) else { return nil }
    return value(expectedBy: expectation)
  }

  /// This part of what an expectation says.
  func value(expectedBy expectation: Expectation) -> Value? {
    var expected: Value?
    expectation.withExpectedValueInPlace {
      _ = modifyLocked { value in
        expected = value
        return false
      }
    }
    return expected
  }
}

extension Place {
  /// Whether this part of what a test expects is equal to the other part of what there was; `nil` when no comparison is
  /// going on.
  func isExpected(as other: Place, _ areEqual: (Value, Value) -> Bool) -> Bool? {
    guard let comparison = ChangeTracking.currentComparison, let mine = comparison.sides(of: self),
      let others = comparison.sides(of: other)
    else { return nil }
    return areEqual(mine.expected, others.actual)
  }
}

extension Projection {
  /// The value; what it is expected to be inside an assertion of a test store.
  @usableFromInline
  @inline(never)
  func readTracked() -> Value {
    let place = place
    if let assertion = ChangeTracking.currentAssertion, assertion.coversReads, let expected = place.expectedValue {
      return expected
    }
    place.reference.registerAccess()
    return place.read()
  }
}
