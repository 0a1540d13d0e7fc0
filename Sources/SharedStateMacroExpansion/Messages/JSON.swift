/// A message. Foundation would make the plugin ten times as large, and slow to start.
indirect enum JSON: Equatable, Sendable {
  case null
  case boolean(Bool)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// The member of an object; `nil` for other values.
  subscript(_ key: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members[key]
  }

  var string: String? {
    guard case .string(let string) = self else { return nil }
    return string
  }

  var integer: Int? {
    guard case .number(let number) = self else { return nil }
    return Int(exactly: number)
  }

  var array: [JSON]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }
}

// MARK: - Writing

extension JSON {
  /// With the keys of objects in order, so that equal values have equal texts.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  private func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .boolean(let boolean): bytes += (boolean ? "true" : "false").utf8
    case .number(let number): bytes += (Int(exactly: number).map { "\($0)" } ?? "\(number)").utf8
    case .string(let string): Self.write(string, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.write(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private static func write(_ string: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in string.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes += [UInt8(ascii: "\\"), byte]
      case 0..<0x20:
        let digits = Array("0123456789abcdef".utf8)
        bytes += "\\u00".utf8
        bytes += [digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
      default:
        bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

// MARK: - Reading

extension JSON {
  /// The place where a text is not JSON, or is nested too deeply.
  struct ReadingError: Error, Equatable {
    /// In bytes.
    let offset: Int
  }

  init(_ bytes: [UInt8]) throws(ReadingError) {
    var reader = Reader(bytes: bytes)
    self = try reader.readValue()
    reader.skipSpace()
    guard reader.position == bytes.count else { throw ReadingError(offset: reader.position) }
  }

  private struct Reader {
    static let maximumDepth = 128

    let bytes: [UInt8]
    var position = 0
    var depth = 0

    var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    var error: ReadingError { ReadingError(offset: position) }

    mutating func skipSpace() {
      while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    mutating func consume(_ character: Unicode.Scalar) -> Bool {
      skipSpace()
      guard current == UInt8(ascii: character) else { return false }
      position += 1
      return true
    }

    mutating func expect(_ character: Unicode.Scalar) throws(ReadingError) {
      guard consume(character) else { throw error }
    }

    mutating func readValue() throws(ReadingError) -> JSON {
      guard depth < Self.maximumDepth else { throw error }
      depth += 1
      defer { depth -= 1 }
      skipSpace()
      switch current {
      case UInt8(ascii: "{"): return try readObject()
      case UInt8(ascii: "["): return try readArray()
      case UInt8(ascii: "\""): return .string(try readString())
      case UInt8(ascii: "t"): return try readWord("true", .boolean(true))
      case UInt8(ascii: "f"): return try readWord("false", .boolean(false))
      case UInt8(ascii: "n"): return try readWord("null", .null)
      default: return try readNumber()
      }
    }

    mutating func readWord(_ word: String, _ value: JSON) throws(ReadingError) -> JSON {
      guard bytes[position...].starts(with: word.utf8) else { throw error }
      position += word.utf8.count
      return value
    }

    mutating func readNumber() throws(ReadingError) -> JSON {
      let start = position
      while let byte = current, "+-.eE0123456789".utf8.contains(byte) { position += 1 }
      guard let number = Double(String(decoding: bytes[start..<position], as: UTF8.self)), number.isFinite else {
        throw ReadingError(offset: start)
      }
      return .number(number)
    }

    mutating func readArray() throws(ReadingError) -> JSON {
      position += 1
      var elements: [JSON] = []
      if consume("]") { return .array(elements) }
      repeat { elements.append(try readValue()) } while consume(",")
      try expect("]")
      return .array(elements)
    }

    mutating func readObject() throws(ReadingError) -> JSON {
      position += 1
      var members: [String: JSON] = [:]
      if consume("}") { return .object(members) }
      repeat {
        skipSpace()
        guard current == UInt8(ascii: "\"") else { throw error }
        let key = try readString()
        try expect(":")
        members[key] = try readValue()
      } while consume(",")
      try expect("}")
      return .object(members)
    }

    mutating func readString() throws(ReadingError) -> String {
      position += 1
      var text: [UInt8] = []
      while let byte = current {
        position += 1
        switch byte {
        case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
        case UInt8(ascii: "\\"): try readEscape(to: &text)
        case 0..<0x20: throw error
        default: text.append(byte)
        }
      }
      throw error
    }

    mutating func readEscape(to text: inout [UInt8]) throws(ReadingError) {
      guard let byte = current else { throw error }
      position += 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
      case UInt8(ascii: "b"): text.append(0x08)
      case UInt8(ascii: "f"): text.append(0x0C)
      case UInt8(ascii: "n"): text.append(0x0A)
      case UInt8(ascii: "r"): text.append(0x0D)
      case UInt8(ascii: "t"): text.append(0x09)
      case UInt8(ascii: "u"):
        var value = UInt32(try readUnit())
        if 0xD800..<0xDC00 ~= value, bytes[position...].starts(with: "\\u".utf8) {
          position += 2
          let low = UInt32(try readUnit())
          if 0xDC00..<0xE000 ~= low { value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00) }
        }
        let scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
        text += String(Character(scalar)).utf8
      default: throw error
      }
    }

    /// Four hexadecimal digits.
    mutating func readUnit() throws(ReadingError) -> UInt16 {
      guard position + 4 <= bytes.count,
        let unit = UInt16(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16)
      else { throw error }
      position += 4
      return unit
    }
  }
}
