/// Writes the elements of an array.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
  private let writer: DocumentWriter
  private let depth: Int
  private let id: Int

  /// Takes an encoder of an array.
  init(_ encoder: ValueEncoder) {
    writer = encoder.writer
    depth = encoder.depth
    id = encoder.id
  }

  var codingPath: [any CodingKey] { writer.codingPath(depth: depth + 1) }

  var count: Int {
    depth < writer.levels.count && writer.levels[depth].id == id ? writer.levels[depth].count : 0
  }

  @inline(__always)
  private func write(_ value: some DirectlyEncodable) throws {
    try writer.beginElement(depth, id)
    try value.write(key: nil, to: writer)
  }

  /// Writes a floating-point number, which may have no JSON form.
  private func write(float value: some DirectlyEncodable) throws {
    try writer.activate(depth, id)
    try writer.attempt { _ in try write(value) }
  }

  func encodeNil() throws {
    try writer.beginElement(depth, id)
    writer.text.append("null")
  }

  func encode(_ value: Bool) throws { try write(value) }
  func encode(_ value: String) throws { try write(value) }
  func encode(_ value: Double) throws { try write(float: value) }
  func encode(_ value: Float) throws { try write(float: value) }
  func encode(_ value: Int) throws { try write(value) }
  func encode(_ value: Int8) throws { try write(value) }
  func encode(_ value: Int16) throws { try write(value) }
  func encode(_ value: Int32) throws { try write(value) }
  func encode(_ value: Int64) throws { try write(value) }
  func encode(_ value: Int128) throws { try write(value) }
  func encode(_ value: UInt) throws { try write(value) }
  func encode(_ value: UInt8) throws { try write(value) }
  func encode(_ value: UInt16) throws { try write(value) }
  func encode(_ value: UInt32) throws { try write(value) }
  func encode(_ value: UInt64) throws { try write(value) }
  func encode(_ value: UInt128) throws { try write(value) }

  func encode<Value: Encodable>(_ value: Value) throws {
    try writer.activate(depth, id)
    let mark = writer.mark
    do {
      try writer.beginElement(depth, id)
      try writer.encoding(of: Value.self).write(value, key: nil, to: writer)
    } catch {
      writer.goBack(to: mark)
      throw error
    }
  }

  // MARK: Nested

  func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
    nested().container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }

  func superEncoder() -> any Encoder { nested() }

  private func nested() -> ValueEncoder {
    do {
      try writer.beginElement(depth, id)
      return ValueEncoder(nested: try writer.nest(PathKey(index: count - 1)))
    } catch {
      return ValueEncoder(rejectedBy: writer, error)
    }
  }
}
