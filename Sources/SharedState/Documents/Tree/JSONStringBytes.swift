/// The UTF-8 bytes that the text of a JSON string stands for, with the escapes resolved.
///
/// A lone surrogate, which has no UTF-8 form, becomes three bytes that no other character has, so that it equals only
/// itself.
struct JSONStringBytes<Text: RandomAccessCollection<UInt8>>: Sequence, IteratorProtocol where Text.SubSequence == Text {
  private var text: Text
  /// The rest of an escaped character, its first byte lowest.
  private var pending: UInt32 = 0

  /// Takes the text between the quotes, which must be valid.
  init(_ text: Text) {
    self.text = text
  }

  mutating func next() -> UInt8? {
    if pending != 0 {
      defer { pending >>= 8 }
      return UInt8(truncatingIfNeeded: pending)
    }
    guard let byte = text.popFirst() else { return nil }
    guard byte == UInt8(ascii: "\\") else { return byte }
    guard let escape = text.popFirst() else { return nil }
    switch escape {
    case UInt8(ascii: "b"): return 0x08
    case UInt8(ascii: "f"): return 0x0C
    case UInt8(ascii: "n"): return 0x0A
    case UInt8(ascii: "r"): return 0x0D
    case UInt8(ascii: "t"): return 0x09
    case UInt8(ascii: "u"): return firstByte(of: character())
    default: return escape
    }
  }

  private mutating func character() -> UInt32 {
    let first = codeUnit(takenFrom: &text)
    guard 0xD800..<0xDC00 ~= first, text.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else { return first }
    var rest = text.dropFirst(2)
    let second = codeUnit(takenFrom: &rest)
    guard 0xDC00..<0xE000 ~= second else { return first }
    text = rest
    return 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
  }

  private func codeUnit(takenFrom text: inout Text) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = text.popFirst() else { break }
      unit = unit << 4 + UInt32(digit <= UInt8(ascii: "9") ? digit & 0xF : digit & 0xF + 9)
    }
    return unit
  }

  private mutating func firstByte(of character: UInt32) -> UInt8 {
    func trail(_ shift: UInt32) -> UInt32 { 0x80 | character >> shift & 0x3F }
    switch character {
    case ..<0x80:
      return UInt8(character)
    case ..<0x800:
      pending = trail(0)
      return UInt8(0xC0 | character >> 6)
    case ..<0x10000:
      pending = trail(6) | trail(0) << 8
      return UInt8(0xE0 | character >> 12)
    default:
      pending = trail(12) | trail(6) << 8 | trail(0) << 16
      return UInt8(0xF0 | character >> 18)
    }
  }
}
