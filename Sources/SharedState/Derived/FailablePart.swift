/// Finds a part of a value that is not always there: an element of a collection, the value of an optional.
protocol FailablePart<Whole, Value>: Sendable, Equatable {
  associatedtype Whole
  associatedtype Value

  /// How it is written behind the whole.
  var text: String { get }

  /// The part, or `nil` when it is not there.
  func value(in whole: Whole) -> Value?

  /// Replaces the part, which is there.
  func write(_ value: Value, to whole: inout Whole)
}

extension FailablePart {
  func write(_ value: Value, to whole: inout Whole) {
    preconditionFailure("A read-only part was mutated. This is a bug in SharedState.")
  }
}
