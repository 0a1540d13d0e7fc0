import Foundation
@testable import SharedState
import SharedStateDependencies
import Testing

@Suite("A JSON document", .timeLimit(.minutes(5)))
struct JSONDocumentTests {
  // MARK: Validity

  static let validTexts = [
    "null", "true", "false", "0", "-0", "-1", "10", "0.5", "1e5", "1E+5", "1e-5", "1.25e05", "123456789012345678",
    "\"\"", "\"a\"", #""\"\\\/\b\f\n\r\t""#, #""\u0000\u00e9\uD83D\uDE00""#, "\"é键🙂\u{7F}\u{10FFFF}\u{E000}\"",
    "[]", "[ ]", "[1]", "[1,[2,[]],{}]", "{}", "{ }", #"{"":0}"#, #"{"a":{"b":[{}]},"c":null}"#, #"{"a":1,"a":2}"#,
    " \t\r\n[ 1 , 2 ]\n", "\u{FEFF}[]", String(repeating: "[", count: 512) + String(repeating: "]", count: 512),
  ]

  static let invalidTexts = [
    "", " ", "\u{FEFF}", "nul", "nulll", "True", "tru e", "NaN", "Infinity", "-", "+1", "01", "-01", "1.", ".5", "1.e5",
    "1e", "1e+", "0x1", "1 2", "--1", "1-", "\"", "\"a", "\"\u{1}\"", "\"\n\"", #""\x""#, #""\u12""#, #""\u12g4""#,
    #""\"#, "'a'", "[", "]", "[1", "[1 2]", "[,1]", "[1,,2]", "[1]]", "[1}", "{", "}", "{1:2}", "{a:1}", #"{"a"}"#,
    #"{"a":}"#, #"{"a" 1}"#, #"{"a":1"#, #"{"a":1,,"b":2}"#, #"{"a":1 "b":2}"#, #"{"a":1]"#, #"{,"a":1}"#, "[]\0",
    "/**/[]", "[]#", "[\u{A0}]", "[\u{B}]", String(repeating: "[", count: 513) + String(repeating: "]", count: 513),
  ]

  @Test("Valid JSON is accepted, as it is by Foundation", arguments: validTexts)
  func valid(text: String) throws {
    #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed) }
    #expect(throws: Never.self) { try JSONDecoder().decode(Anything.self, from: Data(text.utf8)) }
    #expect(try JSONDocument(text).data == Data(text.utf8))
  }

  @Test("Invalid JSON is refused, as it is by Foundation", arguments: invalidTexts)
  func invalid(text: String) {
    #expect(throws: (any Error).self) {
      try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }
    #expect(throws: JSONParsingError.self) { try JSONDocument(text) }
  }

  /// The bytes between 5B 22 and 22 5D.
  @Test(
    "A document that is not UTF-8 is refused",
    arguments: [
      [0xFF], [0x80], [0xC0, 0xAF], [0xC1, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82],
      [0xF0, 0x80, 0x80, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x99], [0xC3],
    ] as [[UInt8]]
  )
  func notUTF8(bytes: [UInt8]) throws {
    let data = Data([0x5B, 0x22] + bytes + [0x22, 0x5D])
    #expect(throws: (any Error).self) { try JSONSerialization.jsonObject(with: data) }
    let error = #expect(throws: JSONParsingError.self) { try JSONDocument(parsing: data) }
    #expect(error?.reason == .invalidUTF8)
  }

  @Test("Parsing differs from Foundation's in trailing commas, huge numbers and lone surrogates")
  func differences() throws {
    // Trailing commas, which Foundation accepts against the standard.
    for text in ["[1,]", #"{"a":1,}"#] {
      #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
      #expect(throws: JSONParsingError.self) { try JSONDocument(text) }
    }
    // Numbers out of range and a lone surrogate, which `JSONDecoder` accepts in parts that it does not read.
    for text in ["[1e400]", #"["\uD800"]"#] {
      #expect(throws: (any Error).self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
      #expect(throws: Never.self) { try JSONDecoder().decode(Anything.self, from: Data(text.utf8)) }
      #expect(try JSONDocument(text).string == text)
    }
  }

  @Test("A parsing error reports only its reason and position")
  func errors() {
    func failure(_ text: String) -> JSONParsingError? {
      do throws(JSONParsingError) { _ = try JSONDocument(text) } catch { return error }
      return nil
    }
    #expect(failure(#"{"a":1"#) == JSONParsingError(reason: .unexpectedEnd, offset: 6))
    #expect(failure(#"{"a":x}"#) == JSONParsingError(reason: .unexpectedByte, offset: 5))
    #expect(failure("[1] 2") == JSONParsingError(reason: .unexpectedByte, offset: 4))
    #expect(failure(String(repeating: "[", count: 600)) == JSONParsingError(reason: .tooDeep, offset: 512))
    #expect(failure(#"{"password":secret}"#)?.description.contains("secret") == false)
  }

  @Test("Arbitrary bytes are either refused or parsed to a document that decodes and merges")
  func fuzz() throws {
    let seedTexts = (Self.validTexts + Self.invalidTexts).filter { $0.utf8.count < 200 }.map { Array($0.utf8) }
    let alphabet = Array("{}[]:,\"\\u0d8e1-+.tn \u{E9}".utf8) + [0x00, 0x80, 0xED, 0xF4, 0xFF]
    for seed in 0..<UInt64(50_000) {
      var generator = SplitMix64(seed: seed)
      var bytes = seedTexts.randomElement(using: &generator) ?? []
      if Bool.random(using: &generator) { bytes += seedTexts.randomElement(using: &generator) ?? [] }
      for _ in 0..<Int.random(in: 0..<4, using: &generator) {
        let index = Int.random(in: 0...bytes.count, using: &generator)
        let byte = alphabet.randomElement(using: &generator) ?? 0
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes.insert(byte, at: index)
        case 1: bytes.removeLast(bytes.count - index)
        case 2 where index < bytes.count: bytes.remove(at: index)
        default: if index < bytes.count { bytes[index] = byte }
        }
      }
      let data = Data(bytes)
      guard let document = try? JSONDocument(parsing: data) else { continue }
      // An accepted document can be decoded as far as the decoder reads, and can be merged.
      let isAccepted = (try? JSONDecoder().decode(Anything.self, from: data)) != nil
      let other = try JSONDocument(#"{"a":[1],"":{"b":"\ud83d"}}"#)
      let outcome = ThreeWayMerge.merge(base: other, mine: document, theirs: other)
      let isMerged = (try? JSONDocument(parsing: outcome.document))?.hasSameValue(as: document) ?? false
      if !isAccepted || document.data != data || !isMerged { Issue.record("seed \(seed): \(bytes)") }
    }
  }

  // MARK: Equality

  @Test(
    "Documents with the same value are equal, however they are written",
    arguments: [
      ("1", "1.0"), ("100", "1e2"), ("0.001", "1E-3"), ("-0", "0"), ("0e99999999999999999999", "0.0"),
      ("12.50", "1250e-2"),
      ("123456789012345678901234567890", "1.2345678901234567890123456789e29"),
      ("1e99999999999999999999", "1e99999999999999999999"),
      (#""A\/\ud83d\ude42""#, #""\u0041/🙂""#), (#""\uD800""#, #""\ud800""#),
      (#"{"a":1,"b":[2]}"#, #" { "\u0062":[2.0], "a":1e0}"#),
      (#"{"a":1,"a":2}"#, #"{"a":1}"#), (#"{"a":1}"#, #"{"a":1,"a":2}"#), ("[]", "[ ]"), ("{}", "{\n}"),
    ]
  )
  func equal(_ pair: (String, String)) throws {
    #expect(try JSONDocument(pair.0).hasSameValue(as: JSONDocument(pair.1)))
    #expect(try JSONDocument(pair.1).hasSameValue(as: JSONDocument(pair.0)))
  }

  @Test(
    "Documents with different values are unequal",
    arguments: [
      ("1", "2"), ("1", "-1"), ("1", "10"), ("1.5", "15"), ("0.1", "0.10000000000000001"), ("1", "\"1\""),
      ("null", "false"),
      ("9007199254740992", "9007199254740993"), ("1e99999999999999999999", "10e99999999999999999999"),
      ("\"é\"", "\"e\u{301}\""),
      (#""\uD800""#, #""\uDC00""#), (#""\uD800x""#, #""\uD800""#), ("[1,2]", "[2,1]"), ("[1]", "[1,1]"), ("[]", "{}"),
      (#"{"a":1}"#, #"{"a":1,"b":1}"#), (#"{"a":1}"#, #"{"b":1}"#), (#"{"é":1}"#, "{\"e\u{301}\":1}"),
      (#"{"a":[1]}"#, #"{"a":[2]}"#),
    ]
  )
  func unequal(_ pair: (String, String)) throws {
    #expect(try !JSONDocument(pair.0).hasSameValue(as: JSONDocument(pair.1)))
    #expect(try !JSONDocument(pair.1).hasSameValue(as: JSONDocument(pair.0)))
  }

  @Test("A comparison finds each of many members, and the first of repeated ones")
  func manyMembers() throws {
    let members = (0..<1_000).map { #""key \#($0)":\#($0)"# }
    let reversed = #"{"key 500":500,\#(members.reversed().joined(separator: ",")),"key 501":0}"#
    let document = try JSONDocument("{\(members.joined(separator: ","))}")
    #expect(try document.hasSameValue(as: JSONDocument(reversed)))
    #expect(try !document.hasSameValue(as: JSONDocument(reversed.replacingOccurrences(of: "key 7\"", with: "key x\""))))
  }

  /// Decodes any JSON without reading anything in it.
  private struct Anything: Decodable {
    init(from decoder: any Decoder) throws {}
  }
}
