import Foundation
import Testing

@testable import SharedState

/// Numbers, strings and invalid JSON, compared with JSONEncoder and JSONDecoder.
@Suite("Scalars, compared with Foundation", .timeLimit(.minutes(5)))
struct ScalarComparisonTests {
  static let numbers = [
    "0", "-0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "32767", "32768", "-32769", "65535", "65536",
    "2147483647", "2147483648", "-2147483649", "4294967295", "4294967296", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "18446744073709551616", "170141183460469231731687303715884105727", "-170141183460469231731687303715884105728",
    "340282366920938463463374607431768211455", "340282366920938463463374607431768211456", "1.0", "1.5", "-2.50", "1e2",
    "1E+2", "120e-1", "0.1", "3.5e38", "1.7976931348623157e308", "1e309", "-1e309", "5e-324",
    "123456789012345678901234567890", "0.30000000000000004", "16777217", "0.000001", "1e-7",
  ]

  static let others = [
    "true", "false", "null", "\"\"", "\"1\"", "\"true\"", "\"null\"", "[]", "{}", "[1]", "{\"a\":1}", " 1 ", "\t1\r\n",
    "\"2024-05-06T07:08:09Z\"", "\"QUJD\"", "\"QUJ\"", "\"https://example.com/a b\"", "\"https://example.com\"",
    "\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\"", "\"e621e1f8-c36c-495a-93fc-0c247a3e6e5f\"", "\"x\"", "[null]",
    "[1,null]", "[true]", "{\"a\":null}", "{\"1\":1}", "[1,2]", "[2,1]",
  ]

  static let broken = [
    "", " ", "01", "-01", "-", "+1", ".5", "1.", "1.e2", "1e", "1e+", "0x10", "1_000", "NaN", "nan", "Infinity",
    "-Infinity", "tru", "TRUE", "nul", "\"abc", "abc", "\"\\q\"", "\"\\u12\"", "\"\\u12G4\"", "\"\\", "1 2",
    "[,1]", "[1", "[1}", "{a:1}", "{\"a\" 1}", "{\"a\":}", "{\"a\"}", "{1:2}", "'a'", "// c\n1",
    "/* c */1", "[1] x", "[1]]", "{}{}", "1\u{FEFF}", "\"a\nb\"", "\"a\tb\"", "\"\u{1}\"",
    "]", ":", ",", "\u{A0}1", "[1 2]", "1,", "--1", "1..2", "1ee2",
  ]

  private func readAll(_ text: String) throws {
    let both = try Comparison()
    both.read(Int.self, text)
    both.read(Int8.self, text)
    both.read(Int16.self, text)
    both.read(Int32.self, text)
    both.read(Int64.self, text)
    both.read(Int128.self, text)
    both.read(UInt.self, text)
    both.read(UInt8.self, text)
    both.read(UInt16.self, text)
    both.read(UInt32.self, text)
    both.read(UInt64.self, text)
    both.read(UInt128.self, text)
    both.read(Double.self, text)
    both.read(Float.self, text)
    both.read(Decimal.self, text)
    both.read(Bool.self, text)
    both.read(String.self, text)
    both.read(Date.self, text)
    both.read(Data.self, text)
    both.read(URL.self, text)
    both.read(UUID.self, text)
    both.read(Int?.self, text)
    both.read(Bool?.self, text)
    both.read(String??.self, text)
    both.read([Int].self, text)
    both.read([Int?].self, text)
    both.read([String: Int?].self, text)
    both.read([Int: Int].self, text)
    both.read(Set<Int>.self, text)
    both.read(Range<Int>.self, text)
    both.read(ClosedRange<Int>.self, text)
    both.read(PartialRangeFrom<Int>.self, text)
    both.read(ContiguousArray<Int>.self, text)
    both.read(EncoderTests.Size.self, text)
    both.read(EncoderTests.Level.self, text)
  }

  @Test("Numbers are read as Foundation reads them", arguments: numbers)
  func numbersAreReadAlike(text: String) throws { try readAll(text) }

  @Test("Other values are read as Foundation reads them", arguments: others)
  func otherValuesRead(text: String) throws { try readAll(text) }

  /// Integers with an exponent. Large ones are read as integers only by our decoder.
  @Test(
    "Large numbers with an exponent are read as Foundation reads them",
    arguments: ["3.4028235e38", "1e22", "1e23", "-1e39"]
  )
  func largeNumbers(text: String) throws {
    try Comparison().read(Double.self, text)
    try Comparison().read(Float.self, text)
    try Comparison().read(Decimal.self, text)
    try Comparison().read(Int64.self, text)
  }

  @Test("Trailing commas and NUL bytes are refused", arguments: ["[1,]", "[[1],]", "{\"a\":1,}", "1\0", "[1]\0"])
  func onlyOursRefuses(text: String) throws {
    #expect(throws: DecodingError.self) { try Coders().value([Int].self, text) }
    #expect(throws: DecodingError.self) { try Coders().value([String: Int].self, text) }
    #expect(throws: DecodingError.self) { try Coders().value(Int.self, text) }
  }

  @Test("Text that is not JSON is refused by both decoders", arguments: broken)
  func invalidJSON(text: String) throws {
    let both = try Comparison()
    both.refuse(Int.self, text)
    both.refuse(String.self, text)
    both.refuse([Int].self, text)
    both.refuse([String: Int].self, text)
  }

  @Test(
    "Valid and invalid UTF-8 is read as Foundation reads it",
    arguments: [
      [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
      [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0xAC, 0x22], [0xEF, 0xBB, 0xBF, 0x22, 0x61, 0x22],
      [0xEF, 0xBB], [0x22, 0x80, 0x22], [0x00],
    ] as [[UInt8]]
  )
  func bytesAreReadAlike(bytes: [UInt8]) throws {
    try Comparison().read(String.self, Data(bytes))
    try Comparison().read([String].self, Data([0x5B] + bytes + [0x5D]))
  }

  @Test(
    "Escape sequences are read as Foundation reads them",
    arguments: [
      #""\u0041\u00e9\u6f22""#, #""\ud83d\ude00""#, #""\uD83D\uDE00""#, #""\ud83d""#, #""\ude00""#, #""\ude00\ud83d""#,
      #""\ud83d\ud83d\ude00""#, #""\ud83dx""#, #""\ud83d\n""#, #""\u0000""#, #""\/\\\"\b\f\n\r\t""#, #""\u002F""#,
      #""a\u0301""#, #""\uFEFF""#, #""\uFFFF""#, #""\u2028""#, "\"e\u{301}é😀\"",
    ]
  )
  func escapesAreReadAlike(text: String) throws {
    let both = try Comparison()
    both.read(String.self, text)
    both.read([String].self, "[\(text)]")
    both.read([String: Int].self, "{\(text):1}")
  }

  @Test("Numbers are written as Foundation writes them")
  func numbersAreWrittenAlike() throws {
    func write<Integer: FixedWidthInteger & Encodable>(_ type: Integer.Type) throws {
      for value in [Integer.min, .max, 0, 1, .max / 3] {
        try Comparison().write(value)
        try Comparison().write([value])
        try Comparison().write(["a": value])
      }
    }
    try write(Int.self)
    try write(Int8.self)
    try write(Int16.self)
    try write(Int32.self)
    try write(Int64.self)
    try write(Int128.self)
    try write(UInt.self)
    try write(UInt8.self)
    try write(UInt16.self)
    try write(UInt32.self)
    try write(UInt64.self)
    try write(UInt128.self)
    let numbers = [
      0, -0.0, 1, -1, 0.1, 1 / 3, 1e15, 1e16, 1e17, 123_456_789_012_345_680, 1e21, 1e22, 1e-4, 1e-5, 1e-7,
      .leastNonzeroMagnitude,
      1.7976931348623157e308, 16_777_216, 16_777_217, 33_554_432, .pi, .nan, .infinity, -.infinity, .ulpOfOne, 2e9,
    ]
    for number in numbers {
      try Comparison().write(number)
      try Comparison().write([Float(number)])
      try Comparison().write(["a": [number]])
    }
    for text in ["0", "-1.50", "1e-20", "123456789.123456789", "9e30", "340282366920938463463374607431768211455"] {
      let decimal = try #require(Decimal(string: text))
      try Comparison().write(decimal)
      try Comparison().write([decimal])
    }
  }

  @Test(
    "Strings are written as Foundation writes them",
    arguments: [JSONEncoder.OutputFormatting(), .withoutEscapingSlashes]
  )
  func stringsAreWrittenAlike(
    _ formatting: JSONEncoder.OutputFormatting
  ) throws {
    let both = try Comparison { encoder, _ in encoder.outputFormatting = formatting.union(.sortedKeys) }
    for scalar in (0 as UInt32)...0xFF {
      let string = String(Character(try #require(Unicode.Scalar(scalar))))
      try both.write(string)
      try both.write([string + "1234567" + string])
      try both.write([string: "12345678" + string])
    }
    for string in ["", "/", "//\\/", "\u{2028}\u{2029}", "\u{FEFF}", "😀", "e\u{301}", "</script>", "\u{10FFFF}"] {
      try both.write(string)
      try both.write([string: [string]])
    }
  }

  @Test("Other values are written as Foundation writes them")
  func otherValuesWritten() throws {
    let both = try Comparison()
    try both.write(true)
    try both.write(Int?.none)
    try both.write([Int?.none, 1])
    try both.write(String??.some(nil))
    try both.write(["a": Int?.none])
    try both.write(URL(string: "https://example.com/a/b?c=d&e=%20"))
    try both.write(URL(string: "b", relativeTo: URL(string: "https://example.com/a/")))
    try both.write(UUID())
    try both.write(Data([0, 0xFF, 0x10]))
    try both.write(Data())
    try both.write(Date(timeIntervalSinceReferenceDate: 0.1))
    try both.write(1..<5)
    try both.write(1...5)
    try both.write(...5)
    try both.write(5...)
    try both.write(ContiguousArray([1, 2]))
    try both.write(EncoderTests.Size.small)
    try both.write([EncoderTests.Level.high])
    try both.write(CompletionTests.Mode.fast(level: 1, name: "x"))
    try both.write(CompletionTests.Mode.slow)
    try both.write([[Int]]())
    try both.write([[], [1]] as [[Int]])
    try both.write([String: Int]())
    try both.write([Int: Int]())
    try both.write(DateComponents(year: 2024, month: 2))
    try both.write(Locale(identifier: "en_GB"))
    try both.write(IndexPath(indexes: [1, 2]))
    try both.write(CharacterSet(charactersIn: "abc"))
    try both.write(CollectionOfOne(1).map { [$0: ["x": $0]] })
  }
}
