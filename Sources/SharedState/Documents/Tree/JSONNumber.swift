/// The exact value of a JSON number of any size: its digits, and the place of its point.
struct JSONNumber: Comparable {
  private var isNegative = false
  /// The text from the first digit that is not zero to the last; empty when the number is zero.
  private var significant: ArraySlice<UInt8>
  /// The power of ten that the first significant digit stands for; `nil` when it does not fit.
  private var exponent: Int? = 0

  /// Takes the text of a number, which must be a valid one.
  init(_ text: ArraySlice<UInt8>) {
    let exponentMark = text.firstIndex { $0 | 0x20 == UInt8(ascii: "e") }
    let mantissa = text[..<(exponentMark ?? text.endIndex)]
    let isSignificant = { (byte: UInt8) in (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(byte) }
    significant = []
    guard let first = mantissa.firstIndex(where: isSignificant), let last = mantissa.lastIndex(where: isSignificant)
    else { return }
    significant = mantissa[first...last]
    isNegative = text.first == UInt8(ascii: "-")
    let point = mantissa.firstIndex(of: UInt8(ascii: ".")) ?? mantissa.endIndex
    let written = exponentMark.map { Self.integer(text[($0 + 1)...]) } ?? 0
    exponent = written.flatMap {
      let (sum, overflows) = $0.addingReportingOverflow(first < point ? point - first - 1 : point - first)
      return overflows ? nil : sum
    }
  }

  /// Two numbers whose exponents do not fit count as different; the caller compares their texts.
  static func == (one: Self, other: Self) -> Bool {
    guard !one.significant.isEmpty, !other.significant.isEmpty else {
      return one.significant.isEmpty && other.significant.isEmpty
    }
    return one.isNegative == other.isNegative && one.exponent != nil && one.exponent == other.exponent
      && one.digits.elementsEqual(other.digits)
  }

  /// Exact, unless neither exponent fits.
  static func < (one: Self, other: Self) -> Bool {
    if one.sign != other.sign { return one.sign < other.sign }
    if one.sign == 0 { return false }
    let (small, large) = one.isNegative ? (other, one) : (one, other)
    let (exponent, largeExponent) = (small.exponent ?? .max, large.exponent ?? .max)
    if exponent != largeExponent { return exponent < largeExponent }
    return small.digits.lexicographicallyPrecedes(large.digits)
  }

  private var sign: Int { significant.isEmpty ? 0 : isNegative ? -1 : 1 }

  private var digits: some Sequence<UInt8> {
    significant.lazy.filter { $0 != UInt8(ascii: ".") }
  }

  private static func integer(_ text: ArraySlice<UInt8>) -> Int? {
    var number = 0
    for byte in text where byte != UInt8(ascii: "+") && byte != UInt8(ascii: "-") {
      let (product, overflows) = number.multipliedReportingOverflow(by: 10)
      let (sum, carries) = product.addingReportingOverflow(Int(byte & 0xF))
      guard !overflows, !carries else { return nil }
      number = sum
    }
    return text.first == UInt8(ascii: "-") ? -number : number
  }
}
