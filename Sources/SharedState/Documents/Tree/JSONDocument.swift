package import Foundation

/// A parsed JSON document that keeps its text as it is.
///
/// Nothing is converted: the order of keys, unknown members, every digit of a number and every escape of a string are
/// those of the text, and ``data`` is the parsed text, byte for byte. Of several members with the same key the first
/// one counts, as for `JSONDecoder`.
package struct JSONDocument: Sendable {
  /// How deep arrays and objects may be nested, as for `JSONDecoder`.
  package static let maximumDepth = 512

  let bytes: [UInt8]
  /// The values and keys in the order of the text; the first one is the document's value.
  let nodes: [JSONNode]
  /// Finds the keys of objects with many members.
  private let indexes: [Int: JSONIndex]

  /// Reads a document.
  /// - Throws: ``JSONParsingError`` when it is anything but one JSON value (RFC 8259) in UTF-8.
  package init(parsing data: Data) throws(JSONParsingError) {
    let bytes = [UInt8](data)
    var parser = try bytes.withUnsafeBufferPointer { buffer throws(JSONParsingError) in
      var parser = JSONParser(buffer)
      try parser.parse()
      return (nodes: parser.nodes, largeObjects: parser.largeObjects)
    }
    var indexes: [Int: JSONIndex] = [:]
    for object in parser.largeObjects {
      let index = JSONIndex(parser.nodes, of: object)
      parser.nodes[object].hasRepetitions = index.hasRepetitions
      indexes[object] = index
    }
    self.bytes = bytes
    nodes = parser.nodes
    self.indexes = indexes
  }

  /// The text.
  package var data: Data { Data(bytes) }

  /// Whether two documents mean the same, however they are written: numbers are compared by their value, strings by
  /// their characters, and objects without regard to the order of their keys.
  package func hasSameValue(as other: JSONDocument) -> Bool {
    JSONComparison.areEqual(0, of: self, 0, of: other)
  }

  // MARK: Values, by the number of their node

  /// The text of a value or key.
  func text(of node: Int) -> ArraySlice<UInt8> {
    bytes[nodes[node].range]
  }

  /// The text of a string or key without its quotes.
  func contents(of node: Int) -> ArraySlice<UInt8> {
    text(of: node).dropFirst().dropLast()
  }

  /// The members of an object, including those with a repeated key; none for other values.
  func members(of object: Int) -> JSONMembers {
    JSONMembers(nodes, of: object)
  }

  /// The only member of an object that has exactly one.
  func onlyMember(of object: Int) -> JSONMembers.Element? {
    var members = members(of: object)
    let first = members.next()
    return members.next() == nil ? first : nil
  }

  /// Finds a member by a key of this or another document.
  func member(of object: Int, at key: Int, in other: JSONDocument) -> JSONMembers.Element? {
    let hash = other.nodes[key].hash
    let key = self.key(of: object, withHash: hash) { hasKey($0, equalTo: key, in: other) }
    return key.map { ($0, $0 + 1) }
  }

  /// Finds the first key with this name.
  func key(of object: Int, named name: UnsafeBufferPointer<UInt8>) -> Int? {
    guard indexes.isEmpty || indexes[object] == nil else {
      return key(of: object, withHash: UInt32(truncatingIfNeeded: NameHash.hash(name))) { hasKey($0, named: name) }
    }
    return members(of: object).first { hasKey($0.key, named: name) }?.key
  }

  /// Whether a key has this name.
  @inline(__always)
  func hasKey(_ key: Int, named name: UnsafeBufferPointer<UInt8>) -> Bool {
    let node = nodes[key]
    if node.hasEscapes { return JSONStringBytes(contents(of: key)).elementsEqual(name) }
    guard Int(node.upper - node.lower) == name.count + 2 else { return false }
    guard let start = name.baseAddress else { return true }
    return bytes.withUnsafeBufferPointer { bytes in
      bytes.baseAddress.map { memcmp($0 + Int(node.lower) + 1, start, name.count) == 0 } ?? false
    }
  }

  private func key(of object: Int, withHash hash: UInt32, where isEqual: (Int) -> Bool) -> Int? {
    guard !indexes.isEmpty, let index = indexes[object] else {
      return members(of: object).first { nodes[$0.key].hash == hash && isEqual($0.key) }?.key
    }
    return index.keys(withHash: hash).first { nodes[$0].hash == hash && isEqual($0) }
  }

  /// Whether an earlier member has the same key, so that this one does not count.
  func isRepeated(_ member: JSONMembers.Element, of object: Int) -> Bool {
    self.member(of: object, at: member.key, in: self)?.key != member.key
  }

  private func hasKey(_ key: Int, equalTo otherKey: Int, in other: JSONDocument) -> Bool {
    JSONComparison.areStringsEqual(key, of: self, otherKey, of: other)
  }
}

/// One value, or one key, of a JSON document: its kind, and the place of its text.
///
/// The nodes of a document are in the order of its text. An array is followed by its elements, an object by its
/// members, each a key and a value.
struct JSONNode: Sendable {
  enum Kind: UInt8, Sendable {
    case null, `false`, `true`, number, string, array, object
  }

  let kind: Kind
  /// Whether a string has to be unescaped before it can be compared.
  var hasEscapes = false
  /// Whether an object has members with the same key.
  var hasRepetitions = false
  let lower: UInt32
  var upper: UInt32
  /// The number of the node after this one and all of its contents.
  var next: UInt32
  /// Equal for equal keys, see ``NameHash``; 0 for values.
  var hash: UInt32 = 0

  /// The place of the text, including the quotes of a string and the brackets of a container.
  var range: Range<Int> { Int(lower)..<Int(upper) }
}

/// The members of an object, in the order of the text.
struct JSONMembers: Sequence, IteratorProtocol {
  /// The numbers of a member's nodes.
  typealias Element = (key: Int, value: Int)

  private let nodes: [JSONNode]
  private var key: Int
  private let end: Int

  /// Takes the nodes of a document, and the number of an object's node. A node of any other kind has no members.
  init(_ nodes: [JSONNode], of object: Int) {
    self.nodes = nodes
    key = object + 1
    end = nodes[object].kind == .object ? Int(nodes[object].next) : key
  }

  mutating func next() -> Element? {
    guard key < end else { return nil }
    defer { key = Int(nodes[key + 1].next) }
    return (key, key + 1)
  }
}
