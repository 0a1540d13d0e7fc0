package import Foundation

/// A JSON document whose values can be looked at, with its text kept as it is.
///
/// Nothing is converted: the order of keys, members that nobody knows, every digit of a number and every escape of a
/// string are those of the text, and ``data`` is what was parsed, byte for byte. Of several members with the same key
/// the first one counts, as for `JSONDecoder`.
package struct JSONDocument: Sendable {
  /// How deep arrays and objects may be nested, as for `JSONDecoder`.
  package static let maximumDepth = 512

  let bytes: [UInt8]
  /// The values and keys in the order of the text; the first one is the document's value.
  let nodes: [JSONNode]
  /// For objects with many members: each key's hash and, below it, the key's node, in ascending order.
  private let indexes: [Int: [UInt64]]

  /// Reads a document.
  /// - Throws: ``JSONParsingError`` when it is anything but one JSON value (RFC 8259) in UTF-8.
  package init(parsing data: Data) throws(JSONParsingError) {
    let bytes = [UInt8](data)
    let parser = try bytes.withUnsafeBufferPointer { buffer throws(JSONParsingError) in
      var parser = JSONParser(buffer)
      try parser.parse()
      return (nodes: parser.nodes, largeObjects: parser.largeObjects)
    }
    self.bytes = bytes
    nodes = parser.nodes
    var indexes: [Int: [UInt64]] = [:]
    for object in parser.largeObjects {
      indexes[object] = JSONMembers(nodes, of: object)
        .map { UInt64(parser.nodes[$0.key].hash) << 32 | UInt64($0.key) }
        .sorted()
    }
    self.indexes = indexes
  }

  /// The text.
  package var data: Data { Data(bytes) }

  /// Whether two documents mean the same, however they are written: numbers are compared by their value, strings by
  /// their characters, and the order of keys does not matter.
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

  /// The members of an object, or none of anything else, those with a repeated key among them.
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
    guard let index = indexes[object] else {
      return members(of: object).first { nodes[$0.key].hash == hash && hasKey($0.key, equalTo: key, in: other) }
    }
    var (lower, upper) = (0, index.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if index[middle] < UInt64(hash) << 32 { lower = middle + 1 } else { upper = middle }
    }
    while lower < index.count, index[lower] >> 32 == UInt64(hash) {
      let candidate = Int(index[lower] & 0xFFFF_FFFF)
      if hasKey(candidate, equalTo: key, in: other) { return (candidate, candidate + 1) }
      lower += 1
    }
    return nil
  }

  /// Whether a member has a key that an earlier one has, so that it does not count.
  func isRepeated(_ member: JSONMembers.Element, of object: Int) -> Bool {
    self.member(of: object, at: member.key, in: self)?.key != member.key
  }

  private func hasKey(_ key: Int, equalTo otherKey: Int, in other: JSONDocument) -> Bool {
    JSONComparison.areStringsEqual(key, of: self, otherKey, of: other)
  }
}
