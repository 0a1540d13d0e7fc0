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
