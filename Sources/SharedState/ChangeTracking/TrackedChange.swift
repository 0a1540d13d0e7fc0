import IssueReporting

/// The value of a box before a change, and the place in the source that made it.
protocol TrackedChange: Sendable {
  var box: Box { get }
  var location: CallSite? { get }

  /// Whether the value is again the one before the change.
  var isUndone: Bool { get }

  /// The failure for a change that is not asserted.
  var failure: String { get }

  /// The failure for a change that is not asserted and that ended before another one; `nil` when the value is the same.
  func failure(after: any TrackedChange) -> String?

  /// The expectation until the test states another one: the value before the change.
  func makeExpectation() -> any Expectation
}

extension TrackedChange {
  /// Hands the change to the trackers that have no earlier one. Called with the lock of the box held, so that the first
  /// change is the first one noted.
  func note(with trackers: [SharedChangeTracker]) {
    for tracker in trackers { tracker.note(self) }
  }
}

/// The value before a change, of one type.
struct TrackedValue<Value>: TrackedChange, @unchecked Sendable {
  // `@unchecked Sendable` is right because a change is constant. A value that is not `Sendable` is compared and shown
  // by the trackers of its shares, which are in its isolation.

  let valueBox: ValueBox<Value>
  let before: Value
  let location: CallSite?

  var box: Box { valueBox }

  var isUndone: Bool { Difference.areEqual(before, valueBox.value) }

  var failure: String { failure(actual: valueBox.value) }

  func failure(after: any TrackedChange) -> String? {
    guard let after = after as? TrackedValue, !Difference.areEqual(before, after.before) else { return nil }
    return failure(actual: after.before)
  }

  private func failure(actual: Value) -> String {
    let place = box.declaration == nil ? location.map { "@\($0.fileID):\($0.line)" } ?? "" : ""
    return """
      Tracked changes to '\(box.name)\(place)' but failed to assert: …

      \(Difference.text(before, actual, indentation: 2))

      (Before: −, After: +)

      Call 'Shared<\(Value.self)>.assert' to exhaustively test these changes, or call 'skipChanges' to ignore them.
      """
  }

  func makeExpectation() -> any Expectation {
    ExpectedValue(box: valueBox, before: before)
  }
}

/// An assertion that does not hold, or a change without an assertion.
package struct ChangeFailure: Sendable {
  /// The text of the failure.
  package let message: String

  /// The statement of the expectation, or else the first change; `nil` when the change came from elsewhere.
  package let location: CallSite?

  /// Reports the failure, at the given line if it has none.
  package func report(orAt location: CallSite) {
    (self.location ?? location).report(message)
  }
}

/// The place in the source that declares a share. Every box has one, so it is packed.
struct ShareOrigin: CustomStringConvertible, @unchecked Sendable {
  // `@unchecked Sendable` is right because the bytes belong to a literal, which is never changed or released.
  private let fileIDBytes: UnsafePointer<UInt8>?
  private let packedLine: UInt32

  init(fileID: StaticString, line: UInt) {
    fileIDBytes = fileID.hasPointerRepresentation ? fileID.utf8Start : nil
    packedLine = UInt32(clamping: line)
  }

  /// The module and the file.
  var fileID: String {
    // The bytes of a `StaticString` end with a zero.
    fileIDBytes.map { String(cString: $0) } ?? ""
  }

  var line: UInt { UInt(packedLine) }

  var description: String { "\(fileID):\(line)" }
}
