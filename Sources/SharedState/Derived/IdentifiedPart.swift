/// The element of a collection that has an identity, wherever it is.
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
