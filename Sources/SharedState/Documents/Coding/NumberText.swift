/// The text of a JSON number, which must be valid.
struct NumberText {
  private let text: UnsafeBufferPointer<UInt8>

  init(_ text: UnsafeBufferPointer<UInt8>) {
    self.text = text
  }

  /// The exact value, however it is written, if it is an integer of this type.
  @inline(__always)
  func integer<Integer: FixedWidthInteger>() -> Integer? {
    guard text.count <= 18 else { return exactInteger() }
    var number: Int64 = 0
    var position = text[0] == UInt8(ascii: "-") ? 1 : 0
    while position < text.count {
      let digit = text[position] &- UInt8(ascii: "0")
      guard digit < 10 else { return exactInteger() }
      number = number &* 10 &+ Int64(digit)
      position += 1
    }
    return Integer(exactly: text[0] == UInt8(ascii: "-") ? -number : number)
  }

  @inline(never)
  private func exactInteger<Integer: FixedWidthInteger>() -> Integer? {
    guard let (magnitude, exponent, isNegative) = decimal else { return nil }
    guard magnitude != 0 else { return 0 }
    // No integer type has more than 39 digits.
    guard 0...39 ~= exponent else { return nil }
    var number = magnitude
    for _ in 0..<exponent {
      let (product, overflows) = number.multipliedReportingOverflow(by: 10)
      guard !overflows else { return nil }
      number = product
    }
    if !isNegative { return Integer(exactly: number) }
    guard number <= Int128.min.magnitude else { return nil }
    return Integer(exactly: Int128(truncatingIfNeeded: 0 &- number))
  }

  /// The digits without trailing zeros, and the power of ten of the last digit; `nil` when there are too many digits.
  private var decimal: (magnitude: UInt128, exponent: Int, isNegative: Bool)? {
    var (magnitude, exponent, zeros): (UInt128, Int, Int) = (0, 0, 0)
    var isBehindPoint = false
    var position = text[0] == UInt8(ascii: "-") ? 1 : 0
    scan: while position < text.count {
      let byte = text[position]
      position += 1
      switch byte {
      case UInt8(ascii: "."): isBehindPoint = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"): break scan
      case UInt8(ascii: "0"):
        if magnitude != 0 { zeros += 1 }
        if isBehindPoint { exponent -= 1 }
      default:
        for _ in 0...zeros {
          let (product, overflows) = magnitude.multipliedReportingOverflow(by: 10)
          guard !overflows else { return nil }
          magnitude = product
        }
        let (sum, overflows) = magnitude.addingReportingOverflow(UInt128(byte &- UInt8(ascii: "0")))
        guard !overflows else { return nil }
        magnitude = sum
        zeros = 0
        if isBehindPoint { exponent -= 1 }
      }
    }
    guard position < text.count else { return (magnitude, exponent + zeros, text[0] == UInt8(ascii: "-")) }
    guard let written = Int(String(decoding: text[position...], as: UTF8.self)) else {
      return magnitude == 0 ? (0, 0, false) : nil
    }
    let (sum, overflows) = written.addingReportingOverflow(exponent + zeros)
    return overflows ? nil : (magnitude, sum, text[0] == UInt8(ascii: "-"))
  }

  /// The nearest number of this type; `nil` when that is infinite, or when it is zero and the number is not.
  func float<Float: DecodableFloat>() -> Float? {
    if let exact: Float = exactFloat() { return exact }
    let number = Float(String(decoding: text, as: UTF8.self))
    guard let number, number.isFinite, number != 0 || isZero else { return nil }
    return number
  }

  private var isZero: Bool {
    for byte in text {
      if byte | 0x20 == UInt8(ascii: "e") { return true }
      if UInt8(ascii: "1")...UInt8(ascii: "9") ~= byte { return false }
    }
    return true
  }

  /// The number, if it is the quotient of an integer and a power of ten that are both exact in this type, because then
  /// the division is rounded correctly.
  private func exactFloat<Float: DecodableFloat>() -> Float? {
    guard text.count <= 17 else { return nil }
    var (number, digitsBehindPoint): (UInt64, Int) = (0, 0)
    var isBehindPoint = false
    let isNegative = text[0] == UInt8(ascii: "-")
    for byte in text.dropFirst(isNegative ? 1 : 0) {
      let digit = byte &- UInt8(ascii: "0")
      if digit < 10 {
        number = number &* 10 &+ UInt64(digit)
        if isBehindPoint { digitsBehindPoint += 1 }
      } else if byte == UInt8(ascii: ".") {
        isBehindPoint = true
      } else {
        return nil
      }
    }
    guard number <= Float.largestExactInteger, digitsBehindPoint < Float.powersOfTen.count else { return nil }
    let magnitude = Float(number) / Float.powersOfTen[digitsBehindPoint]
    return isNegative ? -magnitude : magnitude
  }
}

/// A floating-point type that numbers can be read as.
protocol DecodableFloat: BinaryFloatingPoint, LosslessStringConvertible {
  /// This integer and all below it are exact in this type.
  static var largestExactInteger: UInt64 { get }
  /// The powers of ten that are exact in this type, beginning with 1.
  static var powersOfTen: [Self] { get }
}

extension Double: DecodableFloat {
  static let largestExactInteger: UInt64 = 1 << 53
  static let powersOfTen: [Double] = (0...22).map { (0..<$0).reduce(1) { power, _ in power * 10 } }
}

extension Float: DecodableFloat {
  static let largestExactInteger: UInt64 = 1 << 24
  static let powersOfTen: [Float] = (0...10).map { (0..<$0).reduce(1) { power, _ in power * 10 } }
}
