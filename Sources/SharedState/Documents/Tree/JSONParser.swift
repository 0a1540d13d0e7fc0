/// Finds the values in the text of a JSON document: strict RFC 8259, in UTF-8, without recursion.
///
/// In two details that the standard leaves open it behaves like `JSONDecoder`: a leading byte order mark is skipped,
/// and the escape of a lone surrogate is an error only when the string is read.
struct JSONParser {
  /// An array or object whose end has not been seen.
  private struct Container {
    var node: Int
    var isObject: Bool
    var memberCount = 0
    /// A bit for each hash of a key that was met, and whether one was met twice.
    var seen: UInt64 = 0
    var mayHaveRepetitions = false
  }

  let bytes: UnsafeBufferPointer<UInt8>
  var position = 0
  private(set) var nodes: [JSONNode] = []
  /// The objects with too many members for a linear search of a key.
  private(set) var largeObjects: [Int] = []
  private var open: [Container] = []

  /// Objects with more members than this get an index.
  private static let searchedMemberCount = 16

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  /// Reads the whole document.
  mutating func parse() throws(JSONParsingError) {
    guard bytes.count <= Int(Int32.max) else { throw JSONParsingError(reason: .tooLong, offset: Int(Int32.max)) }
    nodes.reserveCapacity(bytes.count / 8 + 4)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    skipWhitespace()
    repeat {
      while try opensContainer() {}
    } while try isFollowedByAnother()
    guard position == bytes.count else { throw failure() }
  }

  // MARK: Structure

  /// Reads a value. Of a container that is not empty, it reads only the start, and returns `true`: its first value is
  /// next.
  private mutating func opensContainer() throws(JSONParsingError) -> Bool {
    let start = position
    switch try peek() {
    case UInt8(ascii: "{"): return try opensContainer(isObject: true)
    case UInt8(ascii: "["): return try opensContainer(isObject: false)
    case UInt8(ascii: "\""):
      let hasEscapes = try skipString()
      append(.string, from: start, hasEscapes: hasEscapes)
    case UInt8(ascii: "t"):
      try skipLiteral("true")
      append(.true, from: start)
    case UInt8(ascii: "f"):
      try skipLiteral("false")
      append(.false, from: start)
    case UInt8(ascii: "n"):
      try skipLiteral("null")
      append(.null, from: start)
    default:
      try skipNumber()
      append(.number, from: start)
    }
    return false
  }

  private mutating func opensContainer(isObject: Bool) throws(JSONParsingError) -> Bool {
    guard open.count < JSONDocument.maximumDepth else { throw failure(.tooDeep) }
    open.append(Container(node: nodes.count, isObject: isObject))
    append(isObject ? .object : .array, from: position)
    position += 1
    skipWhitespace()
    if try peek() == UInt8(ascii: isObject ? "}" : "]") {
      closeContainer()
      return false
    }
    if isObject { try readKey() }
    return true
  }

  /// Continues after a value, leaving the containers that end with it. Returns whether another value follows.
  private mutating func isFollowedByAnother() throws(JSONParsingError) -> Bool {
    skipWhitespace()
    while let container = open.last {
      let byte = try peek()
      if byte == UInt8(ascii: ",") {
        position += 1
        skipWhitespace()
        if container.isObject { try readKey() }
        return true
      }
      guard byte == UInt8(ascii: container.isObject ? "}" : "]") else { throw failure() }
      closeContainer()
      skipWhitespace()
    }
    return false
  }

  private mutating func closeContainer() {
    position += 1
    let container = open.removeLast()
    nodes[container.node].upper = UInt32(position)
    nodes[container.node].next = UInt32(nodes.count)
    if container.memberCount > Self.searchedMemberCount {
      largeObjects.append(container.node)
    } else if container.mayHaveRepetitions {
      nodes[container.node].hasRepetitions = hasRepetitions(container.node)
    }
  }

  /// Whether two keys of an object have the same hash, as equal keys do.
  private func hasRepetitions(_ object: Int) -> Bool {
    var members = JSONMembers(nodes, of: object)
    while let member = members.next() {
      if members.contains(where: { nodes[$0.key].hash == nodes[member.key].hash }) { return true }
    }
    return false
  }

  /// Reads a key, its colon, and the space up to the value.
  private mutating func readKey() throws(JSONParsingError) {
    let start = position
    guard try peek() == UInt8(ascii: "\"") else { throw failure() }
    let hasEscapes = try skipString()
    append(.string, from: start, hasEscapes: hasEscapes)
    let text = UnsafeBufferPointer(rebasing: bytes[(start + 1)..<(position - 1)])
    let hash =
      hasEscapes ? Array(JSONStringBytes(text[...])).withUnsafeBufferPointer(NameHash.hash) : NameHash.hash(text)
    nodes[nodes.count - 1].hash = UInt32(truncatingIfNeeded: hash)
    let bit: UInt64 = 1 << (hash >> 58)
    if open[open.count - 1].seen & bit != 0 { open[open.count - 1].mayHaveRepetitions = true }
    open[open.count - 1].seen |= bit
    open[open.count - 1].memberCount += 1
    skipWhitespace()
    guard try peek() == UInt8(ascii: ":") else { throw failure() }
    position += 1
    skipWhitespace()
  }

  private mutating func append(_ kind: JSONNode.Kind, from start: Int, hasEscapes: Bool = false) {
    nodes.append(
      JSONNode(
        kind: kind,
        hasEscapes: hasEscapes,
        lower: UInt32(start),
        upper: UInt32(position),
        next: UInt32(nodes.count + 1)
      )
    )
  }
}

/// Why bytes are not a JSON document, and where. It contains none of them.
package struct JSONParsingError: Error, Equatable, Sendable {
  package enum Reason: Equatable, Sendable {
    case unexpectedEnd
    case unexpectedByte
    case invalidUTF8
    /// Arrays and objects are nested more than ``JSONDocument/maximumDepth`` levels deep.
    case tooDeep
    /// Longer than any string in Redis.
    case tooLong
  }

  package var reason: Reason
  /// The number of bytes before the one in question.
  package var offset: Int
}

extension JSONParsingError: CustomStringConvertible {
  package var description: String {
    let reason =
      switch reason {
      case .unexpectedEnd: "the JSON document ends too early"
      case .unexpectedByte: "the JSON document has a byte that does not belong there"
      case .invalidUTF8: "the JSON document is not valid UTF-8"
      case .tooDeep: "the JSON document is nested too deeply"
      case .tooLong: "the JSON document is too long"
      }
    return "\(reason), at byte \(offset)"
  }
}
