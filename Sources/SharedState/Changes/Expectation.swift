/// What an assertion expects the value of a reference to be.
class Expectation: @unchecked Sendable {
  // `@unchecked Sendable` is right because an expectation is only changed with the lock of its reference held, and read
  // when the closures of the assertion are over.

  let reference: Reference

  init(reference: Reference) {
    self.reference = reference
  }

  /// What is wrong with the expectation, given the present value; `nil` when it is met.
  /// - Parameter isExplicit: Whether the assertion mentions the reference, and so expects it to have changed.
  func failure(isExplicit: Bool) -> String? {
    preconditionFailure("A subclass of Expectation does not implement failure. This is a bug in SharedState.")
  }

  /// What is wrong with the expectation, given what the value was at a moment.
  func failure(actual: TrackedChange, isExplicit: Bool) -> String? {
    preconditionFailure("A subclass of Expectation does not implement failure. This is a bug in SharedState.")
  }

  /// What is left of the change when the expected value is what the value was before; `nil` when that is the present
  /// value.
  func remainingChange(at location: ChangeLocation?) -> TrackedChange? {
    preconditionFailure("A subclass of Expectation does not implement remainingChange. This is a bug in SharedState.")
  }

  /// Exchanges the expected value and the one in the reference. Called with the lock of the reference held.
  fileprivate func exchange() {
    preconditionFailure("A subclass of Expectation does not implement exchange(). This is a bug in SharedState.")
  }

  /// Puts the expected value in the place of the real one as long as the closure runs: so every part of it is reached
  /// by the same ways, and nobody sees it, because the lock is held.
  final func withExpectedValueInPlace(_ body: () -> Void) {
    reference.lock.lock()
    reference.lock.beginClosure()
    exchange()
    body()
    exchange()
    reference.abandonMutation()
  }
}

/// What an assertion expects a value to be.
final class ExpectedValue<Value>: Expectation, @unchecked Sendable {
  private let valueReference: ValueReference<Value>
  private let before: Value
  private var expected: Value

  init(reference: ValueReference<Value>, before: Value) {
    valueReference = reference
    self.before = before
    expected = before
    super.init(reference: reference)
  }

  override func failure(isExplicit: Bool) -> String? {
    failure(actual: valueReference.value, isExplicit: isExplicit)
  }

  override func failure(actual: TrackedChange, isExplicit: Bool) -> String? {
    guard let actual = actual as? TrackedValue<Value> else { return nil }
    return failure(actual: actual.before, isExplicit: isExplicit)
  }

  private func failure(actual: Value, isExplicit: Bool) -> String? {
    if Difference.areEqual(expected, actual) {
      return isExplicit && Difference.areEqual(before, actual) ? ChangeAssertion.nothingChanged : nil
    }
    return ChangeAssertion.unexpected(expected: expected, actual: actual)
  }

  override func remainingChange(at location: ChangeLocation?) -> TrackedChange? {
    let change = TrackedValue(reference: valueReference, before: expected, location: location)
    return change.isUndone ? nil : change
  }

  override fileprivate func exchange() {
    swap(&valueReference.pointer.pointee, &expected)
  }
}
