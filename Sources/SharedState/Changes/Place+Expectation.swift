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
