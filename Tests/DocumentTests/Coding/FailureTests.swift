import Foundation
import Testing

@testable import SharedState

@Suite("DecodingFailure", .timeLimit(.minutes(5)))
struct FailureTests {
  struct Inner: Codable { var limit: Int }
  struct Outer: Codable { var items: [Inner]; var name: String }

  private func failure(_ text: String) throws -> String {
    let coders = try Coders()
    do {
      _ = try coders.value(Outer.self, text)
      return "none"
    } catch let error as DecodingError {
      return DecodingFailure(error, in: try? document(text)).description
    }
  }

  @Test("A failure states its place, what was expected and what was found")
  func failureDescription() throws {
    #expect(try failure(#"{"items":[{"limit":"secret"}],"name":""}"#) == "items[0].limit: expected Int, found a string")
    #expect(try failure(#"{"items":[{"limit":1},{}],"name":""}"#) == "items[1].limit: expected a value, found nothing")
    #expect(try failure(#"{"items":[],"name":null}"#) == "name: expected String, found null")
    #expect(try failure(#"{"items":{},"name":""}"#) == "items: expected an array, found an object")
    #expect(try failure("[]") == "the document: expected an object, found an array")
    #expect(
      try failure(#"{"items":[{"limit":1.5}],"name":""}"#)
        == "items[0].limit: expected Int, found another number"
    )
    #expect(try failure(#"{"items":[}"#) == "not JSON at byte 10")
    #expect(try failure("") == "not JSON at byte 0")
  }

  struct Strict: Codable {
    enum Plan: String, Codable { case basic }
    enum Level: Int, Codable { case low = 1 }
    enum Shape: Codable { case point, circle(radius: Int) }
    struct Checked: Codable {
      init(from decoder: any Decoder) throws {
        let context = DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "no a-secret")
        throw DecodingError.dataCorrupted(context)
      }
      func encode(to encoder: any Encoder) {}
    }

    var plan: Plan?
    var level: Level?
    var shape: Shape?
    var date: Date?
    var data: Data?
    var url: URL?
    var price: Decimal?
    var small: Int8?
    var checked: Checked?
  }

  @Test(
    "A failure on an unacceptable value states what its type accepts",
    arguments: [
      (#"{"plan":"a-secret"}"#, "plan: expected a case of Plan, found another string"),
      (#"{"level":2}"#, "level: expected a case of Level, found another number"),
      (#"{"shape":{"a-secret":{}}}"#, "shape: expected a case of Shape, found another object"),
      (#"{"date":"a-secret"}"#, "date: expected an ISO 8601 date, found another string"),
      (#"{"data":"?"}"#, "data: expected Base64, found another string"),
      (#"{"url":""}"#, "url: expected a URL, found another string"),
      (#"{"small":128}"#, "small: expected Int8, found another number"),
      (#"{"checked":"a-secret"}"#, "checked: expected a value that its type accepts, found a string"),
    ]
  )
  func unacceptedValues(text: String, expected: String) throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let own = try #require(DocumentDecoder(decoder))
    let error = #expect(throws: DecodingError.self) { try own.decode(Strict.self, from: Data(text.utf8)) }
    #expect(try DecodingFailure(#require(error), in: document(text)).description == expected)
  }

  @Test("An unknown case found by another decoder names the enum")
  func otherDecoderCase() throws {
    let text = #"{"plan":"a-secret"}"#
    let error = #expect(throws: DecodingError.self) { try JSONDecoder().decode(Strict.self, from: Data(text.utf8)) }
    #expect(try DecodingFailure(#require(error)).description == "plan: expected a case of Plan")
    #expect(
      try DecodingFailure(#require(error), in: document(text)).description
        == "plan: expected a case of Plan, found another string"
    )
  }

  struct Maps: Codable {
    enum CodingKeys: String, CodingKey { case users, numbers, lists, odd = "o\u{1B}\n\u{202E}d", long }

    var users: [String: Inner]?
    var numbers: [Int: [String: Int]]?
    var lists: [UUID: [Inner]]?
    var odd: Int?
    var long: Long?
  }

  struct Long: Codable {
    enum CodingKeys: String, CodingKey {
      case name =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    }

    indirect enum Next: Codable { case next(Long) }

    var name: Next?
  }

  private func failure<Value: Decodable>(of type: Value.Type, _ text: String) throws -> String {
    do {
      _ = try Coders().value(type, text)
      return "none"
    } catch let error as DecodingError {
      return DecodingFailure(error, in: try? document(text)).description
    }
  }

  @Test("Paths show the keys of dictionaries")
  func dictionaryKeys() throws {
    #expect(
      try failure(of: Maps.self, #"{"users":{"me@example.com":{"limit":"x"}}}"#)
        == #"users["me@example.com"].limit: expected Int, found a string"#
    )
    #expect(
      try failure(of: Maps.self, #"{"users":{"me":{}}}"#) == #"users["me"].limit: expected a value, found nothing"#
    )
    #expect(
      try failure(of: Maps.self, #"{"numbers":{"12":{"a":true}}}"#)
        == #"numbers["12"]["a"]: expected Int, found a Boolean"#
    )
    #expect(try failure(of: Maps.self, #"{"numbers":{"x":{}}}"#) == #"numbers["x"]: expected Int, found an object"#)
    #expect(try failure(of: [String: Int].self, #"{"me":"x"}"#) == #"["me"]: expected Int, found a string"#)
    #expect(
      try failure(of: [String: Int].self, #"{"a\"]\n":"x"}"#) == #"["a\"]\u{A}"]: expected Int, found a string"#
    )
    #expect(
      try failure(of: Maps.self, #"{"lists":{"00000000-0000-0000-0000-000000000000":[{"limit":null}]}}"#)
        == #"lists["00000000-0000-0000-0000-000000000000"][0].limit: expected Int, found null"#
    )
    // A dictionary that was read before is not part of the next value's path.
    #expect(
      try failure(of: Maps.self, #"{"users":{"a":{"limit":1}},"numbers":[]}"#)
        == "numbers: expected an object, found an array"
    )
  }

  @Test("Paths from other decoders do not show the keys of dictionaries")
  func otherDecoderPaths() throws {
    func failure<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> String {
      do {
        _ = try JSONDecoder().decode(type, from: Data(text.utf8))
        return "none"
      } catch let error as DecodingError {
        return DecodingFailure(error).description
      }
    }
    #expect(try failure(Maps.self, #"{"users":{"me":{"limit":"x"}}}"#) == "users[…].limit: expected Int")
    #expect(try failure(Maps.self, #"{"numbers":{"12":{"a":true}}}"#) == "numbers[…][…]: expected Int")
    #expect(
      try failure(Outer.self, #"{"items":[{"limit":1},{}],"name":""}"#)
        == "items[1].limit: expected a value, found nothing"
    )
  }

  @Test("Paths are shortened, and their control characters are escaped")
  func shortenedPaths() throws {
    #expect(
      try failure(of: Maps.self, #"{"o\u001b\n\u202ed":"x"}"#)
        == #"o\u{1B}\u{A}\u{202E}d: expected Int, found a string"#
    )
    let name = Long.CodingKeys.name.rawValue
    let text = (0..<150).reduce("[]") { text, _ in "{\"\(name)\":{\"next\":{\"_0\":\(text)}}}" }
    let shown = String(repeating: "a", count: 64) + "…"
    #expect(try failure(of: Long.self, "{\"\(name)\":[]}") == "\(shown): expected an object, found an array")
    let failure = try failure(of: Maps.self, "{\"long\":\(text)}")
    #expect(failure.count < 600)
    #expect(failure.hasPrefix("long.\(shown).next._0.\(shown).next"))
    #expect(failure.hasSuffix("next._0: expected an object, found an array"))
  }

  @Test("Unpaired surrogates fail only where they are read")
  func unpairedSurrogates() throws {
    let coders = try Coders()
    #expect(throws: DecodingError.self) { try coders.value([String].self, #"["\ud800"]"#) }
    #expect(throws: DecodingError.self) { try coders.value([String: Int].self, #"{"\udc00":1}"#) }
    #expect(try coders.value(Inner.self, #"{"\ud800":"\udfff","limit":1}"#).limit == 1)
  }

  @Test("The first of repeated members is read")
  func repeatedMembers() throws {
    let coders = try Coders()
    #expect(try coders.value(Inner.self, #"{"limit":1,"l\u0069mit":2}"#).limit == 1)
    #expect(try coders.value([String: Int].self, #"{"a":1,"b":2,"a":3}"#) == ["a": 1, "b": 2])
    let many = (0..<100).map { "\"m\($0 % 60)\":\($0)" }.joined(separator: ",")
    #expect(try coders.value([String: Int].self, "{\(many)}")["m10"] == 10)
    #expect(try coders.value(Outer.self, #"{"items":[],"name":"first","name":"second"}"#).name == "first")
  }

  @Test("Unusual documents and numbers are read exactly or refused")
  func oddDocumentsAreRead() throws {
    let coders = try Coders()
    #expect(try coders.value([String].self, #"["\u0000a"]"#) == ["\0a"])
    #expect(try coders.value([Int].self, "\u{FEFF} [1]") == [1])
    #expect(throws: DecodingError.self) { try coders.value([Int].self, "[1]\0") }
    #expect(try coders.value(Int.self, "1e2") == 100)
    #expect(
      try coders.value([Int].self, "[9007199254740993, 9007199254740993.0, 90071992547409930e-1]")
        == Array(repeating: 9_007_199_254_740_993, count: 3)
    )
    #expect(throws: DecodingError.self) { try coders.value(Int.self, "9007199254740993.5") }
    #expect(throws: DecodingError.self) { try coders.value([Int8].self, "[128]") }
    #expect(try coders.value([Int128].self, "[-170141183460469231731687303715884105728]") == [.min])
    #expect(throws: DecodingError.self) { try coders.value([Int128].self, "[170141183460469231731687303715884105728]") }
    #expect(try coders.value([UInt128].self, "[340282366920938463463374607431768211455]") == [.max])
    #expect(throws: DecodingError.self) { try coders.value(Double.self, "1e400") }
    #expect(try coders.value([Int].self, "[0e99999999999999999999]") == [0])
    #expect(throws: DecodingError.self) { try coders.value(Int.self, "1e99999999999999999999") }
  }

  /// Names that all have the same 32-bit FNV-1a hash, which has no seed: at each of 14 steps, one of two blocks that
  /// lead to the same state.
  private func collidingNames() -> [String] {
    var state: UInt32 = 2_166_136_261
    var names = [""]
    for _ in 0..<14 {
      var blocks: [UInt32: [UInt8]] = [:]
      var number = 0
      while true {
        let bits = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 >> 24
        let block = (0..<8).map { UInt8(ascii: "A") + UInt8(bits >> UInt64(5 * $0) & 0xF) }
        let next = block.reduce(state) { ($0 ^ UInt32($1)) &* 16_777_619 }
        number += 1
        guard let other = blocks.updateValue(block, forKey: next) else { continue }
        names = names.flatMap { name in [other, block].map { name + String(decoding: $0, as: UTF8.self) } }
        state = next
        break
      }
    }
    return names
  }

  @Test("Members whose names collide under an unseeded hash are found")
  func manyMembersAreFound() throws {
    let names = collidingNames()
    let text = "{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    let read = try Coders().value([String: Int].self, text)
    #expect(read.count == 16_384)
    let document = try document(text)
    #expect(Set(document.members(of: 0).map { document.nodes[$0.key].hash }).count > 16_000)
    #expect(document.members(of: 0).allSatisfy { document.member(of: 0, at: $0.key, in: document)?.key == $0.key })
  }
}
