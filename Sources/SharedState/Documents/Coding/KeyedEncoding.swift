/// Writes the members of an object.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let writer: DocumentWriter
  private let depth: Int
  private let id: Int

  /// Takes an encoder of an object.
  init(_ encoder: ValueEncoder) {
    writer = encoder.writer
    depth = encoder.depth
    id = encoder.id
  }

  var codingPath: [any CodingKey] { writer.codingPath(depth: depth + 1) }

  @inline(__always)
  private func write(_ value: some DirectlyEncodable, _ key: Key) throws {
    try writer.beginMember(key, depth, id)
    try value.write(key: key, to: writer)
  }

  /// Writes a floating-point number, which may have no JSON form.
  private func write(float value: some DirectlyEncodable, _ key: Key) throws {
    try writer.activate(depth, id)
    try writer.attempt { _ in try write(value, key) }
  }

  func encodeNil(forKey key: Key) throws {
    try writer.beginMember(key, depth, id)
    writer.text.append("null")
  }

  func encode(_ value: Bool, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: String, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: Double, forKey key: Key) throws { try write(float: value, key) }
  func encode(_ value: Float, forKey key: Key) throws { try write(float: value, key) }
  func encode(_ value: Int, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: Int8, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: Int16, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: Int32, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: Int64, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: Int128, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: UInt, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: UInt8, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: UInt16, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: UInt32, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: UInt64, forKey key: Key) throws { try write(value, key) }
  func encode(_ value: UInt128, forKey key: Key) throws { try write(value, key) }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try writer.activate(depth, id)
    let mark = writer.mark
    do {
      try writer.beginMember(key, depth, id)
      try writer.encoding(of: Value.self).write(value, key: key, to: writer)
    } catch {
      writer.goBack(to: mark)
      throw error
    }
  }

  // MARK: Nested

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type,
    forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    nested(key, isContainer: true).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key, isContainer: true).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { nested(PathKey.super) }

  func superEncoder(forKey key: Key) -> any Encoder { nested(key) }

  private func nested(_ key: some CodingKey, isContainer: Bool = false) -> ValueEncoder {
    do {
      let isNew = try writer.beginMember(key, depth, id, isNested: isContainer)
      if !isNew, isContainer { writer.merges.append(writer.text.count) }
      return ValueEncoder(nested: try writer.nest(key))
    } catch {
      return ValueEncoder(rejectedBy: writer, error)
    }
  }
}
