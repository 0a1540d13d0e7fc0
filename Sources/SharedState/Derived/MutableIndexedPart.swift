/// The element at an index of a collection.
struct MutableIndexedPart<Whole: MutableCollection & RandomAccessCollection>: FailablePart
where Whole.Index: Sendable {
  let index: Whole.Index

  var text: String { "[\(index)]" }

  func value(in whole: Whole) -> Whole.Element? {
    IndexedPart(index: index).value(in: whole)
  }

  func write(_ value: Whole.Element, to whole: inout Whole) {
    whole[index] = value
  }
}
