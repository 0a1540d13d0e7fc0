/// Reads fields out of bytes, from the front, without making strings of them.
struct ByteScanner {
  private(set) var rest: UnsafeRawBufferPointer.SubSequence

  init(_ bytes: UnsafeRawBufferPointer) {
    rest = bytes[...]
  }

  /// Takes the next byte if it is this character.
  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  /// Takes digits, at least one and as many as there are; `nil`: there are none, or the number is too large.
  mutating func number() -> UInt64? {
    var number: UInt64 = 0
    var count = 0
    for byte in rest {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
      let (product, overflows) = number.multipliedReportingOverflow(by: 10)
      let (sum, carries) = product.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      guard !overflows, !carries else { return nil }
      number = sum
      count += 1
    }
    rest.removeFirst(count)
    return count > 0 ? number : nil
  }

  /// Takes a revision that is not ``Revision/none``; `nil`: there is none, or it is not plausible. The scripts use the
  /// same rule, so that both read hand-written data alike.
  mutating func revision() -> Revision? {
    guard rest.first != UInt8(ascii: "0"), let number = number(), number <= Revision.largest.rawValue else {
      return nil
    }
    return Revision(number)
  }

  /// Takes exactly this many lower-case hexadecimal digits; `nil`: they are not there.
  mutating func hexadecimal(digits: Int) -> UInt64? {
    guard rest.count >= digits else { return nil }
    var number: UInt64 = 0
    for byte in rest.prefix(digits) {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    rest.removeFirst(digits)
    return number
  }

  /// Takes this many bytes, which are there.
  mutating func skip(bytes count: Int) {
    rest.removeFirst(count)
  }

  /// Takes any one byte.
  mutating func byte() -> UInt8? {
    rest.popFirst()
  }
}
