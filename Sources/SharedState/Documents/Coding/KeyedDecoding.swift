/// Reads the members of an object.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let reader: DocumentReader
  let place: ReadingPlace

  var codingPath: [any CodingKey] { reader.codingPath(to: place.node) }

  var allKeys: [Key] { reader.members(of: place.node).compactMap { Key(stringValue: $0.name) } }

  func contains(_ key: Key) -> Bool { reader.member(key, of: place.node) != nil }

  func decodeNil(forKey key: Key) throws -> Bool {
    if let node = reader.member(key, of: place.node) { return reader.kind(node) == .null }
    guard let (fallback, place) = fallback(key) else { throw missing(key) }
    return fallback.kind(place.node) == .null
  }

  @inline(__always)
  private func read<Value: DirectlyDecodable>(_ key: Key) throws -> Value {
    if let node = reader.member(key, of: place.node) { return try .read(node, from: reader) }
    return try complete(key) { try .read($1.node, from: $0) }
  }

  @inline(__always)
  private func readIfPresent<Value: DirectlyDecodable>(_ key: Key) throws -> Value? {
    guard let node = reader.member(key, of: place.node), reader.kind(node) != .null else { return nil }
    return try .read(node, from: reader)
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try read(key) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try read(key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try read(key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try read(key) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try read(key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try read(key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try read(key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try read(key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try read(key) }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try read(key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try read(key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read(key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read(key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read(key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try read(key) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try read(key) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    if let node = reader.member(key, of: place.node) { return try reader.read(type, at: inner(node, key)) }
    return try complete(key) { try $0.read(type, at: $1) }
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try readIfPresent(key) }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try readIfPresent(key) }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try readIfPresent(key) }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try readIfPresent(key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try readIfPresent(key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try readIfPresent(key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try readIfPresent(key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try readIfPresent(key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try readIfPresent(key) }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try readIfPresent(key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try readIfPresent(key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try readIfPresent(key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try readIfPresent(key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try readIfPresent(key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try readIfPresent(key) }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try readIfPresent(key) }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    guard let node = reader.member(key, of: place.node), reader.kind(node) != .null else { return nil }
    return try reader.read(type, at: inner(node, key))
  }

  // MARK: Nested

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type,
    forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try nested(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try nested(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { superDecoder(PathKey.super) }

  func superDecoder(forKey key: Key) throws -> any Decoder { superDecoder(key) }

  private func nested(_ key: Key) throws -> ValueDecoder {
    if let node = reader.member(key, of: place.node) { return ValueDecoder(reader: reader, place: inner(node, key)) }
    return try complete(key) { ValueDecoder(reader: $0, place: $1) }
  }

  private func superDecoder(_ key: some CodingKey) -> ValueDecoder {
    if let node = reader.member(key, of: place.node) { return ValueDecoder(reader: reader, place: inner(node, key)) }
    if let decoder = try? complete(key, { ValueDecoder(reader: $0, place: $1) }) { return decoder }
    let nothing = DocumentReader(.null, reader.options, path: codingPath + [key])
    return ValueDecoder(reader: nothing, place: ReadingPlace(0))
  }

  // MARK: Missing members

  /// The place of a member, and of the value that completes it.
  @inline(__always)
  private func inner(_ node: Int, _ key: some CodingKey) -> ReadingPlace {
    guard place.fallback != nil else { return ReadingPlace(node) }
    return ReadingPlace(node, fallback: fallback(key)?.place.node)
  }

  private func fallback(_ key: some CodingKey) -> (reader: DocumentReader, place: ReadingPlace)? {
    guard let fallback = reader.fallback, let object = place.fallback, fallback.kind(object) == .object,
      let node = fallback.member(key, of: object)
    else { return nil }
    return (fallback, ReadingPlace(node))
  }

  /// Reads a missing member from the fallback document, and notes that.
  private func complete<Value>(_ key: some CodingKey, _ read: (DocumentReader, ReadingPlace) throws -> Value) throws
    -> Value
  {
    guard let (fallback, place) = fallback(key) else { throw missing(key) }
    let value = try read(fallback, place)
    reader.completed.append(codingPath.map(\.stringValue) + [key.stringValue])
    return value
  }

  private func missing(_ key: some CodingKey) -> DecodingError {
    let description = "No value associated with key \(key) (\"\(key.stringValue)\")."
    return .keyNotFound(key, .init(codingPath: codingPath, debugDescription: description))
  }
}
