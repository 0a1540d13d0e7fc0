/// A character of a source text, with the properties that the lexer needs.
struct Scalar {
  private let value: UInt32
  /// In bytes.
  let length: Int

  /// Each byte that is not UTF-8 counts as a character of one byte that no rule matches.
  init(_ bytes: [UInt8], at index: Int) {
    let first = bytes[index]
    let count =
      switch first {
      case 0..<0x80: 1
      case 0xC2..<0xE0: 2
      case 0xE0..<0xF0: 3
      case 0xF0..<0xF5: 4
      default: 0
      }
    var value = UInt32(first)
    if count > 1, index + count <= bytes.count {
      value &= 0x7F >> UInt32(count)
      for byte in bytes[index + 1..<index + count] {
        guard byte & 0xC0 == 0x80 else {
          (self.value, length) = (Self.invalid, 1)
          return
        }
        value = value << 6 | UInt32(byte & 0x3F)
      }
    } else if count != 1 {
      (self.value, length) = (Self.invalid, 1)
      return
    }
    (self.value, length) = (value, count)
  }

  private static let invalid: UInt32 = 0xFFFF_FFFF

  var isIdentifierStart: Bool {
    switch value {
    case 0x41...0x5A, 0x61...0x7A, 0x5F, 0x24: true
    case 0..<0x80, Self.invalid: false
    default: !isOperatorPart && !isSpace
    }
  }

  var isIdentifierPart: Bool {
    switch value {
    case 0x30...0x39: true
    case 0x300...0x36F, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE00...0xFE0F, 0xFE20...0xFE2F: true
    default: isIdentifierStart
    }
  }

  /// Whether the grammar calls it the head of an operator, beyond ASCII.
  var isOperatorStart: Bool {
    switch value {
    case 0xA1...0xA7, 0xA9, 0xAB, 0xAC, 0xAE, 0xB0, 0xB1, 0xB6, 0xBB, 0xBF, 0xD7, 0xF7, 0x2016, 0x2017,
      0x2020...0x2027, 0x2030...0x203E, 0x2041...0x2053, 0x2055...0x205E, 0x2190...0x23FF, 0x2500...0x2775,
      0x2794...0x2BFF, 0x2E00...0x2E7F, 0x3001...0x3003, 0x3008...0x3020, 0x3030:
      true
    default:
      false
    }
  }

  var isOperatorPart: Bool {
    switch value {
    case 0x300...0x36F, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE00...0xFE0F, 0xFE20...0xFE2F, 0xE0100...0xE01EF: true
    default: isOperatorStart
    }
  }

  private var isSpace: Bool {
    switch value {
    case 0x80...0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF, 0xE000...0xF8FF: true
    default: false
    }
  }
}
