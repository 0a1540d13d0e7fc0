/// The decoder with which a value of a type reads itself.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
  let reader: DocumentReader
  let place: ReadingPlace

  var codingPath: [any CodingKey] { reader.codingPath(to: place.node) }
  var userInfo: [CodingUserInfoKey: Any] { reader.options.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard reader.kind(place.node) == .object else { throw reader.mismatch([String: Any].self, at: place.node) }
    return KeyedDecodingContainer(KeyedDecoding<Key>(reader: reader, place: place))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard reader.kind(place.node) == .array else { throw reader.mismatch([Any].self, at: place.node) }
    return UnkeyedDecoding(reader, array: place.node)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  // MARK: A single value

  func decodeNil() -> Bool { reader.kind(place.node) == .null }

  func decode(_ type: Bool.Type) throws -> Bool { try .read(place.node, from: reader) }
  func decode(_ type: String.Type) throws -> String { try .read(place.node, from: reader) }
  func decode(_ type: Double.Type) throws -> Double { try .read(place.node, from: reader) }
  func decode(_ type: Float.Type) throws -> Float { try .read(place.node, from: reader) }
  func decode(_ type: Int.Type) throws -> Int { try .read(place.node, from: reader) }
  func decode(_ type: Int8.Type) throws -> Int8 { try .read(place.node, from: reader) }
  func decode(_ type: Int16.Type) throws -> Int16 { try .read(place.node, from: reader) }
  func decode(_ type: Int32.Type) throws -> Int32 { try .read(place.node, from: reader) }
  func decode(_ type: Int64.Type) throws -> Int64 { try .read(place.node, from: reader) }
  func decode(_ type: Int128.Type) throws -> Int128 { try .read(place.node, from: reader) }
  func decode(_ type: UInt.Type) throws -> UInt { try .read(place.node, from: reader) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try .read(place.node, from: reader) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try .read(place.node, from: reader) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try .read(place.node, from: reader) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try .read(place.node, from: reader) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try .read(place.node, from: reader) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try reader.read(type, at: place) }
}
