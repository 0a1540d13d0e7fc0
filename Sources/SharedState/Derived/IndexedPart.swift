/// The element at an index of a collection that is only read.
struct IndexedPart<Whole: RandomAccessCollection>: FailablePart where Whole.Index: Sendable {
  let index: Whole.Index

  var text: String { "[\(index)]" }

  func value(in whole: Whole) -> Whole.Element? {
    whole.startIndex <= index && index < whole.endIndex ? whole[index] : nil
  }
}
