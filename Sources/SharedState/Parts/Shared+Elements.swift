extension Shared where Value: MutableCollection & RandomAccessCollection, Value.Index: Sendable {
  /// Shares of the elements that are in the collection now.
  ///
  /// Each share stands for an index, whatever element is there. When the collection becomes shorter, a share whose
  /// index is gone keeps the last value that it has seen, and ignores writes. Use an ``IdentifiedArray`` for shares
  /// that follow their elements.
  public var elements: [Shared<Value.Element>] {
    projection.place.elements { MutableIndexedPart(index: $1) }.map { Shared<Value.Element>($0) }
  }

  /// A share of whatever element is at an index. The index must be in the collection now.
  public subscript(position: Value.Index) -> Shared<Value.Element> {
    Shared<Value.Element>(projection.place.element(at: position) { MutableIndexedPart(index: $1) })
  }
}

extension Shared where Value: IdentifiedCollection, Value.ID: Sendable, Value.Index: Sendable {
  /// A share of the element with an identity, whose value is `nil` when there is no such element.
  ///
  /// Writing to it adds the element, replaces it, or removes it. To have a share of an existing element, unwrap it:
  ///
  /// ```swift
  /// guard let $todo = Shared($todos[id: id]) else { return }
  /// ```
  public subscript(id id: Value.ID) -> Shared<Value.Element?> {
    Shared<Value.Element?>(projection.place.element(id: id))
  }

  /// Shares of the elements that are in the collection now.
  ///
  /// Each share follows its element wherever it moves. When the element is removed, its share keeps the last value that
  /// it has seen, and ignores writes.
  public var elements: [Shared<Value.Element>] {
    projection.place.elements.map { Shared<Value.Element>($0) }
  }

  /// A share of the element that is at an index now. It follows the element wherever that moves.
  public subscript(position: Value.Index) -> Shared<Value.Element> {
    Shared<Value.Element>(projection.place.element(at: position))
  }
}

extension RangeReplaceableCollection {
  /// Makes a collection of shares of the elements of a shared collection: its `elements`.
  public init<Base: MutableCollection & RandomAccessCollection>(_ base: Shared<Base>)
  where Element == Shared<Base.Element>, Base.Index: Sendable {
    let elements: [Shared<Base.Element>] = base.elements
    self.init(elements)
  }

  /// Makes a collection of shares of the elements of a shared collection: its `elements`.
  public init<Base: IdentifiedCollection>(_ base: Shared<Base>)
  where Element == Shared<Base.Element>, Base.Index: Sendable, Base.ID: Sendable {
    let elements: [Shared<Base.Element>] = base.elements
    self.init(elements)
  }
}

extension SharedReader where Value: RandomAccessCollection, Value.Index: Sendable {
  /// Readers of the elements that are in the collection now.
  ///
  /// Each reader stands for an index, whatever element is there. When the collection becomes shorter, a reader whose
  /// index is gone keeps the last value that it has seen. Use an ``IdentifiedArray`` for readers that follow their
  /// elements.
  public var elements: [SharedReader<Value.Element>] {
    projection.place.elements { IndexedPart(index: $1) }.map { SharedReader<Value.Element>($0) }
  }

  /// A reader of whatever element is at an index. The index must be in the collection now.
  public subscript(position: Value.Index) -> SharedReader<Value.Element> {
    SharedReader<Value.Element>(projection.place.element(at: position) { IndexedPart(index: $1) })
  }
}

extension SharedReader where Value: IdentifiedCollection, Value.ID: Sendable, Value.Index: Sendable {
  /// A reader of the element with an identity, whose value is `nil` when there is no such element.
  public subscript(id id: Value.ID) -> SharedReader<Value.Element?> {
    SharedReader<Value.Element?>(projection.place.element(id: id))
  }

  /// Readers of the elements that are in the collection now, each of which follows its element wherever it moves.
  ///
  /// When the element is removed, its reader keeps the last value that it has seen.
  public var elements: [SharedReader<Value.Element>] {
    projection.place.elements.map { SharedReader<Value.Element>($0) }
  }

  /// A reader of the element that is at an index now. It follows the element wherever that moves.
  public subscript(position: Value.Index) -> SharedReader<Value.Element> {
    SharedReader<Value.Element>(projection.place.element(at: position))
  }
}

extension RangeReplaceableCollection {
  /// Makes a collection of readers of the elements of a shared collection: its `elements`.
  public init<Base: RandomAccessCollection>(_ base: SharedReader<Base>)
  where Element == SharedReader<Base.Element>, Base.Index: Sendable {
    let elements: [SharedReader<Base.Element>] = base.elements
    self.init(elements)
  }

  /// Makes a collection of readers of the elements of a shared collection: its `elements`.
  public init<Base: IdentifiedCollection>(_ base: SharedReader<Base>)
  where Element == SharedReader<Base.Element>, Base.Index: Sendable, Base.ID: Sendable {
    let elements: [SharedReader<Base.Element>] = base.elements
    self.init(elements)
  }
}
