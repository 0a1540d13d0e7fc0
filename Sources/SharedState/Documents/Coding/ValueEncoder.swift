/// The encoder with which a value of a type writes itself.
struct ValueEncoder: Encoder, SingleValueEncodingContainer {
  let writer: DocumentWriter
  let depth: Int
  let id: Int

  var codingPath: [any CodingKey] { writer.codingPath(depth: depth + 1) }
  var userInfo: [CodingUserInfoKey: Any] { writer.options.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(KeyedEncoding<Key>(opened(.object)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    UnkeyedEncoding(opened(.array))
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  private func opened(_ content: EncodingLevel.Content) -> ValueEncoder {
    do {
      try writer.activate(depth, id)
      try writer.open(content)
      return self
    } catch {
      return ValueEncoder(rejectedBy: writer, error)
    }
  }

  init(writer: DocumentWriter, depth: Int, id: Int) {
    self.writer = writer
    self.depth = depth
    self.id = id
  }

  /// Takes the first value of a nested writer.
  init(nested writer: DocumentWriter) {
    self.init(writer: writer, depth: 0, id: writer.activeID)
  }

  /// Makes an encoder whose output is discarded, and notes the error.
  init(rejectedBy writer: DocumentWriter, _ error: any Error) {
    self.init(nested: writer.reject(error))
  }

  // MARK: A single value

  @inline(__always)
  private func begin() throws {
    try writer.activate(depth, id)
    try writer.beginSingleValue()
  }

  private func write(_ value: some DirectlyEncodable) throws {
    try writer.activate(depth, id)
    try writer.attempt { writer in
      try writer.beginSingleValue()
      try value.write(key: nil, to: writer)
    }
  }

  func encodeNil() throws {
    try begin()
    writer.text.append("null")
  }

  func encode(_ value: Bool) throws { try write(value) }
  func encode(_ value: String) throws { try write(value) }
  func encode(_ value: Double) throws { try write(value) }
  func encode(_ value: Float) throws { try write(value) }
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
      try writer.beginSingleValue()
      try writer.encoding(of: Value.self).write(value, key: nil, to: writer)
    } catch {
      writer.goBack(to: mark)
      throw error
    }
  }
}
