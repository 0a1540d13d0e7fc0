public import OrderedCollections

extension IdentifiedArray: Equatable where Element: Equatable {
  /// Whether both have equal elements in the same order.
  @inlinable
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.elements == rhs.elements
  }
}

extension IdentifiedArray: Hashable where Element: Hashable {
  /// Hashes the elements in their order.
  @inlinable
  public func hash(into hasher: inout Hasher) {
    hasher.combine(elements)
  }
}

extension IdentifiedArray: Encodable where Element: Encodable {
  /// Encodes the elements as a plain array.
  ///
  /// - Throws: The error of the encoder.
  @inlinable
  public func encode(to encoder: any Encoder) throws {
    try elements.encode(to: encoder)
  }
}

extension IdentifiedArray: IdentityList where Element: Encodable {
  var listElements: [Element] { Array(elements) }

  var listID: (Element) -> ID { identify }
}

extension IdentifiedArray: CollectionDecodable where Element: Decodable & Identifiable, ID == Element.ID {
  static var collectionDecoding: TypeDecoding { IdentifiedArrayDecoding<Element>() }
}

/// Leaves out elements that cannot be read, which `init(from:)` does not know.
private final class IdentifiedArrayDecoding<Element: Decodable & Identifiable>:
  ValueDecoding<IdentifiedArray<Element.ID, Element>>, @unchecked Sendable
{
  private let element = TypeDecoding.of(Element.self)

  override func read(
    at place: ReadingPlace,
    from reader: DocumentReader
  ) throws -> IdentifiedArray<Element.ID, Element> {
    guard !reader.leftOut.isEmpty, reader.hasIdentities(elementsOf: place.node, element) else {
      return try reader.call(at: place) { try IdentifiedArray(from: $0) }
    }
    var elements: IdentifiedArray<Element.ID, Element> = []
    try reader.readElements(of: place.node) { place in
      if reader.leftOut.contains(place.node) { return }
      guard elements.append(try element.read(at: place, from: reader)).inserted else {
        throw reader.corrupted("The element has the identity of an earlier one.", at: place.node)
      }
    }
    return elements
  }
}

extension IdentifiedArray: Decodable where Element: Decodable & Identifiable, ID == Element.ID {
  /// Decodes the elements from a plain array.
  ///
  /// - Throws: The error of the decoder, and a `DecodingError` when two elements have the same identity.
  @inlinable
  public init(from decoder: any Decoder) throws {
    self.init()
    var container = try decoder.unkeyedContainer()
    while !container.isAtEnd {
      let index = container.currentIndex
      guard append(try container.decode(Element.self)).inserted else {
        throw DecodingError.dataCorruptedError(
          in: container,
          debugDescription: "The element at index \(index) has the identity of an earlier one."
        )
      }
    }
  }
}

extension IdentifiedArray: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The elements, as an array shows them.
  public var description: String { elements.description }

  /// The type and the elements.
  public var debugDescription: String { "IdentifiedArray<\(ID.self), \(Element.self)>(\(elements.debugDescription))" }

  /// The elements.
  public var customMirror: Mirror { Mirror(self, unlabeledChildren: elements, displayStyle: .collection) }
}

extension IdentifiedArray: RangeReplaceableCollection where Element: Identifiable, ID == Element.ID {
  /// Replaces the elements of a range of indices by others.
  ///
  /// A new element is ignored when an element outside of the range, or an earlier new one, has its identity.
  /// - Complexity: O(n + m).
  @inlinable
  public mutating func replaceSubrange(_ subrange: Range<Int>, with newElements: some Collection<Element>) {
    guard subrange.upperBound < endIndex else {
      removeSubrange(subrange)
      append(contentsOf: newElements)
      return
    }
    let tail = self[subrange.upperBound...].map { $0 }
    let tailIDs = Set(ids[subrange.upperBound...])
    removeSubrange(subrange.lowerBound..<endIndex)
    append(contentsOf: newElements.lazy.filter { !tailIDs.contains($0.id) })
    append(contentsOf: tail)
  }
}

extension IdentifiedArray: ExpressibleByArrayLiteral where Element: Identifiable, ID == Element.ID {
  /// Makes an array of the elements of a literal.
  ///
  /// - Precondition: No two elements have the same identity.
  @inlinable
  public init(arrayLiteral elements: Element...) {
    self.init(uniqueElements: elements)
  }
}
