/// The parts of a document that contain no other value: strings, numbers, literals, space.
extension JSONParser {
  /// The next byte.
  func peek() throws(JSONParsingError) -> UInt8 {
    guard position < bytes.count else { throw failure() }
    return bytes[position]
  }

  /// The error for the next byte, or for the end of the document.
  func failure(_ reason: JSONParsingError.Reason = .unexpectedByte) -> JSONParsingError {
    JSONParsingError(reason: position < bytes.count ? reason : .unexpectedEnd, offset: position)
  }

  mutating func skipWhitespace() {
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): position += 1
      default: return
      }
    }
  }

  mutating func skipLiteral(_ literal: StaticString) throws(JSONParsingError) {
    for index in 0..<literal.utf8CodeUnitCount {
      guard try peek() == literal.utf8Start[index] else { throw failure() }
      position += 1
    }
  }

  mutating func skipNumber() throws(JSONParsingError) {
    _ = skip(UInt8(ascii: "-"))
    if !skip(UInt8(ascii: "0")) { try skipDigits() }
    if skip(UInt8(ascii: ".")) { try skipDigits() }
    if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
      if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
      try skipDigits()
    }
  }

  private mutating func skip(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  /// Skips all digits, of which there must be at least one.
  private mutating func skipDigits() throws(JSONParsingError) {
    let start = position
    while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
    guard position > start else { throw failure() }
  }

  /// Skips a string, and returns whether it contains escapes.
  mutating func skipString() throws(JSONParsingError) -> Bool {
    var hasEscapes = false
    position += 1
    while position < bytes.count {
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        position += 1
        return hasEscapes
      } else if byte == UInt8(ascii: "\\") {
        hasEscapes = true
        try skipEscape()
      } else if byte < 0x20 {
        throw failure()
      } else if byte < 0x80 {
        position += 1
      } else {
        try skipCharacter(beginningWith: byte)
      }
    }
    throw failure()
  }

  private mutating func skipEscape() throws(JSONParsingError) {
    position += 1
    let escape = try peek()
    switch escape {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    case UInt8(ascii: "u"):
      position += 1
      for _ in 0..<4 {
        let digit = try peek()
        guard digit &- UInt8(ascii: "0") < 10 || (digit | 0x20) &- UInt8(ascii: "a") < 6 else { throw failure() }
        position += 1
      }
    default:
      throw failure()
    }
  }

  /// Skips a character of more than one byte. The table of well-formed sequences: Unicode Standard, table 3-7.
  private mutating func skipCharacter(beginningWith first: UInt8) throws(JSONParsingError) {
    let second: ClosedRange<UInt8>
    let count: Int
    switch first {
    case 0xC2...0xDF: (count, second) = (2, 0x80...0xBF)
    case 0xE0: (count, second) = (3, 0xA0...0xBF)
    case 0xED: (count, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (count, second) = (3, 0x80...0xBF)
    case 0xF0: (count, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (count, second) = (4, 0x80...0xBF)
    case 0xF4: (count, second) = (4, 0x80...0x8F)
    default: throw failure(.invalidUTF8)
    }
    position += 1
    guard second.contains(try peek()) else { throw failure(.invalidUTF8) }
    position += 1
    for _ in 2..<count {
      guard (0x80...0xBF).contains(try peek()) else { throw failure(.invalidUTF8) }
      position += 1
    }
  }
}
