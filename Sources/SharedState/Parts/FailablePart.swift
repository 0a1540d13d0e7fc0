/// Finds a part of a value that is not always there: an element of a collection, the value of an optional.
protocol FailablePart<Whole, Value>: Sendable, Equatable {
  associatedtype Whole
  associatedtype Value

  /// The part in Swift code, to be appended to that of the whole.
  var text: String { get }

  /// The part, or `nil` when it is not there.
  func value(in whole: Whole) -> Value?

  /// Replaces the part, which exists.
  func write(_ value: Value, to whole: inout Whole)
}

extension FailablePart {
  func write(_ value: Value, to whole: inout Whole) {
    preconditionFailure("A read-only part was mutated. This is a bug in SharedState.")
  }
}

/// The value of an optional.
struct WrappedPart<Value>: FailablePart {
  var text: String { "!" }

  func value(in whole: Value?) -> Value? { whole }

  func write(_ value: Value, to whole: inout Value?) {
    whole = value
  }
}

/// The element with a given identity, wherever it is.
struct IdentifiedPart<Whole: IdentifiedCollection>: FailablePart where Whole.ID: Sendable {
  let id: Whole.ID

  var text: String { "[id: \(String(reflecting: id))]!" }

  func value(in whole: Whole) -> Whole.Element? {
    whole[id: id]
  }

  func write(_ value: Whole.Element, to whole: inout Whole) {
    whole[id: id] = value
  }
}

/// The element at an index of a collection that can only be read.
struct IndexedPart<Whole: RandomAccessCollection>: FailablePart where Whole.Index: Sendable {
  let index: Whole.Index

  var text: String { "[\(index)]" }

  func value(in whole: Whole) -> Whole.Element? {
    whole.startIndex <= index && index < whole.endIndex ? whole[index] : nil
  }
}

/// The element at an index of a collection.
struct MutableIndexedPart<Whole: MutableCollection & RandomAccessCollection>: FailablePart
where Whole.Index: Sendable {
  let index: Whole.Index

  private var part: IndexedPart<Whole> { IndexedPart(index: index) }

  var text: String { part.text }

  func value(in whole: Whole) -> Whole.Element? {
    part.value(in: whole)
  }

  func write(_ value: Whole.Element, to whole: inout Whole) {
    whole[index] = value
  }
}
