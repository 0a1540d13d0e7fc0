extension Place {
  /// The place of a value that a closure computes from this one.
  func mapping<Member>(_ compute: @escaping @Sendable (Value) -> Member) -> Place<Member> {
    Place<Member>(box: box, accessor: ClosureAccessor(whole: self, compute: compute))
  }

  /// The place of a part that was seen in a snapshot of this value.
  func appending<Part: FailablePart>(
    _ part: Part,
    seen value: Part.Value,
    version: UInt64
  ) -> Place<Part.Value> where Part.Whole == Value {
    let accessor = FailablePartAccessor(whole: self, part: part, seen: value, version: version)
    return Place<Part.Value>(box: box, accessor: accessor)
  }

  /// The place of a part that may vanish, or `nil` when it is not there now.
  func appending<Part: FailablePart>(_ part: Part) -> Place<Part.Value>? where Part.Whole == Value {
    let (whole, version) = snapshot()
    guard let value = part.value(in: whole) else { return nil }
    return appending(part, seen: value, version: version)
  }

  /// The place of the part that stands for an index, which must be in the collection now.
  func element<Part: FailablePart>(
    at index: Value.Index,
    as part: (Value, Value.Index) -> Part
  ) -> Place<Part.Value> where Value: RandomAccessCollection, Part.Whole == Value, Part.Value == Value.Element {
    let (whole, version) = snapshot()
    return appending(part(whole, index), seen: whole[index], version: version)
  }

  /// The places of parts that may vanish, one for each element of this value.
  func elements<Part: FailablePart>(
    _ part: (Value, Value.Index) -> Part
  ) -> [Place<Part.Value>] where Value: RandomAccessCollection, Part.Whole == Value, Part.Value == Value.Element {
    let (whole, version) = snapshot()
    return whole.indices.map { index in
      appending(part(whole, index), seen: whole[index], version: version)
    }
  }
}

extension Place where Value: IdentifiedCollection, Value.ID: Sendable {
  /// The place of the element with an identity, whose value is `nil` when there is none.
  func element(id: Value.ID) -> Place<Value.Element?> {
    let accessor = IdentifiedElementAccessor(whole: self, id: id)
    return Place<Value.Element?>(box: box, accessor: accessor)
  }

  /// The places of all elements, each of which follows its element wherever it moves.
  var elements: [Place<Value.Element>] {
    elements { IdentifiedPart(id: $0.id(of: $0[$1])) }
  }

  /// The place of the element that is at an index now.
  func element(at index: Value.Index) -> Place<Value.Element> {
    element(at: index) { IdentifiedPart(id: $0.id(of: $0[$1])) }
  }
}
