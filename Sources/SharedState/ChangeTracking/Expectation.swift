/// The value that an assertion expects a box to have.
protocol Expectation: AnyObject, Sendable {
  var box: Box { get }

  /// The last statement of the test about the value.
  var statement: CallSite? { get }

  /// The failure of the expectation for the present value; `nil` when it is met.
  /// - Parameter isStated: Whether the assertion mentions the box, and so expects it to have changed.
  func failure(isStated: Bool) -> String?

  /// The failure of the expectation for an earlier value; `nil` when it is met.
  /// - Parameter mayBeUnchanged: Whether a statement may make no difference.
  func failure(actual: any TrackedChange, isStated: Bool, mayBeUnchanged: Bool) -> String?

  /// The change that remains when it starts from the expected value; `nil` when that is the present value.
  func remainingChange(at location: CallSite?) -> (any TrackedChange)?

  /// Lets a statement of the test change the expected value, as the real one is changed.
  func state(at statement: CallSite?, _ body: () -> Void)

  /// Puts the expected value in the place of the real one while the closure runs, so that its parts are reached in the
  /// same ways. No other thread sees it, because the lock is held.
  func withExpectedValueInPlace(_ body: () -> Void)
}

extension Expectation {
  /// The failure of an expectation that the test has stated; `nil` when it is met.
  func failureOfStatement() -> ChangeFailure? {
    failure(isStated: true).map { ChangeFailure(message: $0, location: statement) }
  }
}

/// The expected value of one type.
final class ExpectedValue<Value>: Expectation, @unchecked Sendable {
  // `@unchecked Sendable` is right because an expectation is only changed with the lock of its box held, and read
  // when the closures of the assertion are over.

  private let valueBox: ValueBox<Value>
  private let before: Value
  private var expected: Value
  private(set) var statement: CallSite?

  init(box: ValueBox<Value>, before: Value) {
    valueBox = box
    self.before = before
    expected = before
  }

  var box: Box { valueBox }

  func failure(isStated: Bool) -> String? {
    failure(actual: valueBox.value, isStated: isStated, mayBeUnchanged: !isStated)
  }

  func failure(actual: any TrackedChange, isStated: Bool, mayBeUnchanged: Bool) -> String? {
    guard let actual = actual as? TrackedValue<Value> else { return nil }
    return failure(actual: actual.before, isStated: isStated, mayBeUnchanged: mayBeUnchanged)
  }

  private func failure(actual: Value, isStated: Bool, mayBeUnchanged: Bool) -> String? {
    if Difference.areEqual(expected, actual) {
      return !mayBeUnchanged && Difference.areEqual(before, actual) ? ChangeAssertion.nothingChanged : nil
    }
    return ChangeAssertion.unexpected(expected: expected, actual: actual, isStated: isStated)
  }

  func remainingChange(at location: CallSite?) -> (any TrackedChange)? {
    let change = TrackedValue(valueBox: valueBox, before: expected, location: location)
    return change.isUndone ? nil : change
  }

  func state(at statement: CallSite?, _ body: () -> Void) {
    withExpectedValueInPlace {
      self.statement = statement
      body()
    }
  }

  func withExpectedValueInPlace(_ body: () -> Void) {
    box.lock.lock(for: box)
    box.lock.beginClosure()
    swap(&valueBox.pointer.pointee, &expected)
    body()
    swap(&valueBox.pointer.pointee, &expected)
    box.abandonMutation()
  }
}

extension Place {
  /// The value that is expected by the assertion whose closure this task runs; `nil` when there is none, or the value
  /// has not changed.
  var expectedValue: Value? {
    guard let expectation = ChangeTracking.currentAssertion?.presentExpectation(of: box) else { return nil }
    return value(expectedBy: expectation)
  }

  /// This part of an expected value.
  func value(expectedBy expectation: any Expectation) -> Value? {
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
  /// Whether this part of the expected value equals the other part of the actual value; `nil` outside of a comparison.
  func isExpected(as other: Place, _ areEqual: (Value, Value) -> Bool) -> Bool? {
    guard let comparison = ChangeTracking.currentComparison, let mine = comparison.sides(of: self),
      let others = comparison.sides(of: other)
    else { return nil }
    return areEqual(mine.expected, others.actual)
  }
}

extension Projection {
  /// The value; inside an assertion, the expected value.
  @usableFromInline
  @inline(never)
  func readTracked() -> Value {
    let place = place
    if let expected = place.expectedValue { return expected }
    place.box.registerAccess()
    return place.read()
  }
}

extension Projection where Value: Equatable {
  /// Whether the values are equal now. Inside an assertion, the expected values are compared. A share compared with
  /// itself is equal once its expected value is the present one.
  func isEqual(to other: Projection) -> Bool {
    guard ChangeTracking.isActive else { return read() == other.read() }
    let isItself = place.isSame(as: other.place)
    return place.isExpected(as: other.place, ==) ?? (readTracked() == (isItself ? other.read() : other.readTracked()))
  }
}
