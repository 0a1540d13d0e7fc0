/// The strings of a JSON document, with quotes and escapes.
extension TextBuffer {
  /// Appends a string in quotes.
  @inline(__always)
  func append(quoted string: String, escapingSlashes: Bool) {
    var string = string
    string.withUTF8 { append(quoted: $0, escapingSlashes: escapingSlashes) }
  }

  /// Appends a string in quotes.
  func append(quoted string: UnsafeBufferPointer<UInt8>, escapingSlashes: Bool) {
    // Each byte becomes at most six.
    let first = room(6 * string.count + 2)
    first.pointee = UInt8(ascii: "\"")
    var end = first + 1
    if let source = string.baseAddress {
      var position = 0
      while position < string.count {
        // Eight bytes at a time, if none of them has to be escaped.
        if position + 8 <= string.count {
          let word = UnsafeRawPointer(source + position).loadUnaligned(as: UInt64.self)
          if !Self.mayNeedEscape(word) {
            UnsafeMutableRawPointer(end).storeBytes(of: word, as: UInt64.self)
            position += 8
            end += 8
            continue
          }
        }
        let stop = min(position + 8, string.count)
        while position < stop {
          Self.write(source[position], to: &end, escapingSlashes: escapingSlashes)
          position += 1
        }
      }
    }
    end.pointee = UInt8(ascii: "\"")
    commit(end + 1 - first)
  }

  /// Whether one of eight bytes is a control character, a quote or a slash. It is sometimes `true` when none is.
  @inline(__always)
  private static func mayNeedEscape(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    func hasZero(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }
    let quote = hasZero(word ^ ones &* UInt64(UInt8(ascii: "\"")))
    let backslash = hasZero(word ^ ones &* UInt64(UInt8(ascii: "\\")))
    let slash = hasZero(word ^ ones &* UInt64(UInt8(ascii: "/")))
    let control = (word &- ones &* 0x20) & ~word
    return (quote | backslash | slash | control) & (ones &* 0x80) != 0
  }

  @inline(__always)
  private static func write(_ byte: UInt8, to end: inout UnsafeMutablePointer<UInt8>, escapingSlashes: Bool) {
    let isPlain = byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    if isPlain && !(escapingSlashes && byte == UInt8(ascii: "/")) {
      end.pointee = byte
      end += 1
    } else {
      writeEscape(byte, to: &end)
    }
  }

  private static func writeEscape(_ byte: UInt8, to end: inout UnsafeMutablePointer<UInt8>) {
    func put(_ byte: UInt8) {
      end.pointee = byte
      end += 1
    }
    put(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: put(UInt8(ascii: "b"))
    case 0x09: put(UInt8(ascii: "t"))
    case 0x0A: put(UInt8(ascii: "n"))
    case 0x0C: put(UInt8(ascii: "f"))
    case 0x0D: put(UInt8(ascii: "r"))
    case 0x20...: put(byte)
    default:
      for digit in ["u", "0", "0"] as [Unicode.Scalar] { put(UInt8(ascii: digit)) }
      put(UInt8(ascii: "0") + byte >> 4)
      put(byte & 0xF < 10 ? UInt8(ascii: "0") + byte & 0xF : UInt8(ascii: "a") + (byte & 0xF - 10))
    }
  }
}
