/// A type of the standard library that is read without a decoder of its own.
protocol CollectionDecodable {
  static var collectionDecoding: TypeDecoding { get }
}

extension Optional: CollectionDecodable where Wrapped: Decodable {
  static var collectionDecoding: TypeDecoding { OptionalDecoding<Wrapped>() }
}

private final class OptionalDecoding<Wrapped: Decodable>: ValueDecoding<Wrapped?>, @unchecked Sendable {
  private let wrapped = TypeDecoding.of(Wrapped.self)

  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> Wrapped? {
    reader.kind(place.node) == .null ? nil : try wrapped.read(at: place, from: reader)
  }
}

extension DocumentReader {
  /// Reads each element of an array. A default never completes them.
  func readElements(of array: Int, _ read: (ReadingPlace) throws -> Void) throws {
    guard kind(array) == .array else { throw mismatch([Any].self, at: array) }
    var element = array + 1
    let end = Int(document.nodes[array].next)
    while element < end {
      try read(ReadingPlace(element))
      element = Int(document.nodes[element].next)
    }
  }

  /// How many elements an array has.
  func count(of array: Int) -> Int {
    var (count, element) = (0, array + 1)
    while element < document.nodes[array].next {
      element = Int(document.nodes[element].next)
      count += 1
    }
    return count
  }
}

extension DocumentReader {
  /// Whether the elements of a list have identities that the document contains, so that a change of the list keeps those
  /// that were left out: two readings of the first one that can be read have the same identity.
  func hasIdentities<Element>(elementsOf array: Int, _ decoding: ValueDecoding<Element>) -> Bool {
    guard Element.self is any Identifiable.Type, kind(array) == .array else { return false }
    var node = array + 1
    while node < document.nodes[array].next {
      let place = ReadingPlace(node)
      node = Int(document.nodes[node].next)
      guard !leftOut.contains(place.node), let element = probe({ try decoding.read(at: place, from: $0) }) else {
        continue
      }
      guard let element = element as? any Identifiable,
        let again = probe({ try decoding.read(at: place, from: $0) })
      else { return false }
      return Self.isSame(element, again)
    }
    return false
  }

  private static func isSame<Element: Identifiable>(_ element: Element, _ other: Any) -> Bool {
    (other as? Element)?.id == element.id
  }
}

extension Array: CollectionDecodable where Element: Decodable {
  static var collectionDecoding: TypeDecoding { ArrayDecoding<Element>() }
}

private final class ArrayDecoding<Element: Decodable>: ValueDecoding<[Element]>, @unchecked Sendable {
  private let element = TypeDecoding.of(Element.self)
  private let unknown = UnknownValues.of(Element.self)

  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> [Element] {
    var elements: [Element] = []
    if reader.kind(place.node) == .array { elements.reserveCapacity(reader.count(of: place.node)) }
    let leavesOut =
      !reader.leftOut.isEmpty && (unknown != nil || reader.hasIdentities(elementsOf: place.node, element))
    try reader.readElements(of: place.node) { place in
      if leavesOut, reader.leftOut.contains(place.node) { return }
      if let unknown, unknown.contain(place, of: reader) { return }
      elements.append(try element.read(at: place, from: reader))
    }
    return elements
  }
}

extension Set: CollectionDecodable where Element: Decodable {
  static var collectionDecoding: TypeDecoding { SetDecoding<Element>() }
}

private final class SetDecoding<Element: Decodable & Hashable>: ValueDecoding<Set<Element>>, @unchecked Sendable {
  private let element = TypeDecoding.of(Element.self)
  private let unknown = UnknownValues.of(Element.self)

  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> Set<Element> {
    var elements: Set<Element> = []
    try reader.readElements(of: place.node) { place in
      if reader.leftOut.contains(place.node) { return }
      if let unknown, unknown.contain(place, of: reader) { return }
      elements.insert(try element.read(at: place, from: reader))
    }
    return elements
  }
}

extension Dictionary: CollectionDecodable where Key: Decodable, Value: Decodable {
  static var collectionDecoding: TypeDecoding { DictionaryDecoding<Key, Value>() }
}

/// Reads dictionaries from objects, and from arrays of keys and values.
private final class DictionaryDecoding<Key: Decodable & Hashable, Value: Decodable>: ValueDecoding<[Key: Value]>,
  @unchecked Sendable
{
  private let keys = DictionaryKeys<Key>()
  private let unknownKeys = UnknownValues.of(Key.self)
  private let value = TypeDecoding.of(Value.self)

  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> [Key: Value] {
    switch reader.kind(place.node) {
    case .object: return try readObject(place.node, reader)
    case .array where keys.mayBeInArray: return try readArray(place.node, reader)
    default: throw reader.mismatch([String: Any].self, at: place.node)
    }
  }

  private func readObject(_ object: Int, _ reader: DocumentReader) throws -> [Key: Value] {
    var dictionary: [Key: Value] = [:]
    reader.openDictionaries.append((object, keys.kind))
    defer { reader.openDictionaries.removeLast() }
    for member in reader.document.members(of: object) {
      let name = try reader.dictionaryName(at: member.key, keys.kind)
      if let unknownKeys, unknownKeys.contain(name: name) { continue }
      let key = try keys.key(named: name, at: member.key, from: reader)
      if dictionary[key] == nil { dictionary[key] = try value.read(at: ReadingPlace(member.value), from: reader) }
    }
    return dictionary
  }

  private func readArray(_ array: Int, _ reader: DocumentReader) throws -> [Key: Value] {
    var dictionary: [Key: Value] = [:]
    var key: Key?
    try reader.readElements(of: array) { place in
      guard let known = key else { return key = try reader.read(Key.self, at: place) }
      dictionary[known] = try value.read(at: place, from: reader)
      key = nil
    }
    guard key == nil else {
      throw reader.corrupted("Expected keys and values, but found an array of odd length.", at: array)
    }
    return dictionary
  }
}
