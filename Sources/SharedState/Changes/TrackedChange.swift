/// What a reference was before it was changed, and where that was done.
class TrackedChange: @unchecked Sendable {
  // `@unchecked Sendable` is right because a change is constant. A value that is not `Sendable` is compared and shown
  // by those who track its shares, and those are in its isolation.

  let reference: Reference
  let location: ChangeLocation?

  init(reference: Reference, location: ChangeLocation?) {
    self.reference = reference
    self.location = location
  }

  /// Whether the value is what it was before.
  var isUndone: Bool {
    preconditionFailure("A subclass of TrackedChange does not implement isUndone. This is a bug in SharedState.")
  }

  /// The text of the failure, for a change that nobody asserted.
  var failure: String {
    preconditionFailure("A subclass of TrackedChange does not implement failure. This is a bug in SharedState.")
  }

  /// The text of the failure, for a change that nobody asserted and that led to what was before another one; `nil` when
  /// nothing had changed.
  func failure(after: TrackedChange) -> String? {
    preconditionFailure("A subclass of TrackedChange does not implement failure. This is a bug in SharedState.")
  }

  /// The present value as the one of before. Called with the lock of the reference held.
  func present() -> TrackedChange {
    preconditionFailure("A subclass of TrackedChange does not implement present. This is a bug in SharedState.")
  }

  /// What the value is expected to be, as long as nobody says otherwise: what it was before.
  func makeExpectation() -> Expectation {
    preconditionFailure("A subclass of TrackedChange does not implement makeExpectation. This is a bug in SharedState.")
  }

  /// Tells those trackers who do not know of an earlier change. Called with the lock of the reference held, so that the
  /// first change is the first one told.
  final func note(with trackers: [SharedChangeTracker]) {
    for tracker in trackers { tracker.note(self) }
  }
}

/// What a value was before it was changed.
final class TrackedValue<Value>: TrackedChange, @unchecked Sendable {
  private let valueReference: ValueReference<Value>
  let before: Value

  init(reference: ValueReference<Value>, before: Value, location: ChangeLocation?) {
    valueReference = reference
    self.before = before
    super.init(reference: reference, location: location)
  }

  override var isUndone: Bool {
    Difference.areEqual(before, valueReference.value)
  }

  override var failure: String { failure(actual: valueReference.value) }

  override func failure(after: TrackedChange) -> String? {
    guard let after = after as? TrackedValue<Value>, !Difference.areEqual(before, after.before) else { return nil }
    return failure(actual: after.before)
  }

  override func present() -> TrackedChange {
    TrackedValue(reference: valueReference, before: valueReference.pointer.pointee, location: nil)
  }

  private func failure(actual: Value) -> String {
    let place = reference.declaration == nil ? location.map { "@\($0.fileID):\($0.line)" } ?? "" : ""
    return """
      Tracked changes to '\(reference.name)\(place)' but failed to assert: …

      \(Difference.text(before, actual, indentation: 2))

      (Before: −, After: +)

      Call 'Shared<\(Value.self)>.assert' to exhaustively test these changes, or call 'skipChanges' to ignore them.
      """
  }

  override func makeExpectation() -> Expectation {
    ExpectedValue(reference: valueReference, before: before)
  }
}
