/// Reads the elements of an array.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
  private let reader: DocumentReader
  // Small enough to be held by an existential without an allocation.
  private let array: UInt32
  private var element: UInt32
  private let elementCount: UInt32
  private var index: UInt32 = 0

  /// Takes the number of an array.
  init(_ reader: DocumentReader, array: Int) {
    self.reader = reader
    self.array = UInt32(array)
    element = UInt32(array) + 1
    elementCount = UInt32(reader.count(of: array))
  }

  var codingPath: [any CodingKey] { reader.codingPath(to: Int(array)) }
  var count: Int? { Int(elementCount) }
  var currentIndex: Int { Int(index) }
  var isAtEnd: Bool { index == elementCount }

  @inline(__always)
  private mutating func next<Value>(_ type: Any.Type, _ read: (ReadingPlace) throws -> Value) throws -> Value {
    guard !isAtEnd else { throw atEnd(type) }
    let value = try read(ReadingPlace(Int(element)))
    advance()
    return value
  }

  private mutating func advance() {
    element = reader.document.nodes[Int(element)].next
    index += 1
  }

  private func atEnd(_ type: Any.Type) -> DecodingError {
    let path = codingPath + [PathKey(index: currentIndex)]
    return .valueNotFound(type, .init(codingPath: path, debugDescription: "Unkeyed container is at end."))
  }

  private mutating func read<Value: DirectlyDecodable>() throws -> Value {
    try next(Value.self) { [reader] in try .read($0.node, from: reader) }
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd else { throw atEnd(Never.self) }
    guard reader.kind(Int(element)) == .null else { return false }
    advance()
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try read() }
  mutating func decode(_ type: String.Type) throws -> String { try read() }
  mutating func decode(_ type: Double.Type) throws -> Double { try read() }
  mutating func decode(_ type: Float.Type) throws -> Float { try read() }
  mutating func decode(_ type: Int.Type) throws -> Int { try read() }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try read() }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try read() }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try read() }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try read() }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try read() }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try read() }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try read() }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try read() }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try read() }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try read() }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try read() }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next(type) { [reader] in try reader.read(type, at: $0) }
  }

  // MARK: Nested

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next(KeyedDecodingContainer<NestedKey>.self) { [reader] in
      try ValueDecoder(reader: reader, place: $0).container(keyedBy: type)
    }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next((any UnkeyedDecodingContainer).self) { [reader] in
      try ValueDecoder(reader: reader, place: $0).unkeyedContainer()
    }
  }

  mutating func superDecoder() throws -> any Decoder {
    try next((any Decoder).self) { [reader] in ValueDecoder(reader: reader, place: $0) }
  }
}
