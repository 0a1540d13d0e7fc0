import Foundation
@testable import SharedState
import SharedStateTesting
import Testing

/// Exact examples of each rule.
@Suite("FieldsMerge: a three-way merge", .timeLimit(.minutes(5)))
struct ThreeWayMergeTests {
  struct Example: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let base: String
    let mine: String
    let theirs: String
    let merged: String

    init(_ description: String, _ base: String, _ mine: String, _ theirs: String, _ merged: String) {
      (testDescription, self.base, self.mine, self.theirs, self.merged) = (description, base, mine, theirs, merged)
    }
  }

  @Test(
    "A merge applies my changes to their document",
    arguments: [
      Example("both changes", #"{"a":1,"b":1}"#, #"{"a":2,"b":1}"#, #"{"a":1,"b":3}"#, #"{"a":2,"b":3}"#),
      Example("same leaf: mine", #"{"a":1,"b":1}"#, #"{"a":2,"b":1}"#, #"{"a":3,"b":1}"#, #"{"a":2,"b":1}"#),
      Example("addition", #"{"a":1}"#, #"{"a":1,"c":2,"b":[3, 4]}"#, #"{ "a": 1 }"#, #"{ "a": 1,"c":2,"b":[3, 4] }"#),
      Example("addition to nothing", "{}", #"{"a":1,"b":2}"#, "{ }", #"{"a":1,"b":2 }"#),
      Example("addition next to theirs", "{}", #"{"a":1}"#, #"{"b":2}"#, #"{"a":1,"b":2}"#),
      Example(
        "both add an object",
        #"{"x":0}"#,
        #"{"x":0,"o":{"a":1,"b":1}}"#,
        #"{"x":0,"o":{"a":2,"c":3}}"#,
        #"{"x":0,"o":{"a":1,"b":1,"c":3}}"#
      ),
      Example(
        "an object for null",
        #"{"o":null}"#,
        #"{"o":{"a":1,"b":1}}"#,
        #"{"o":{"c":3,"d":3}}"#,
        #"{"o":{"a":1,"b":1,"c":3,"d":3}}"#
      ),
      Example(
        "an object for a scalar",
        #"{"o":7}"#,
        #"{"o":{"a":1,"b":1}}"#,
        #"{"o":{"c":3,"d":3}}"#,
        #"{"o":{"a":1,"b":1}}"#
      ),
      Example(
        "first deleted",
        #"{"a":1,"b":2,"c":3}"#,
        #"{"b":2,"c":3}"#,
        #"{"a":1, "b":2, "c":3}"#,
        #"{ "b":2, "c":3}"#
      ),
      Example(
        "middle deleted",
        #"{"a":1,"b":2,"c":3}"#,
        #"{"a":1,"c":3}"#,
        #"{"a":1, "b":2, "c":3}"#,
        #"{"a":1, "c":3}"#
      ),
      Example(
        "last deleted",
        #"{"a":1,"b":2,"c":3}"#,
        #"{"a":1,"b":2}"#,
        #"{"a":1, "b":2, "c":3 }"#,
        #"{"a":1, "b":2 }"#
      ),
      Example("ends deleted", #"{"a":1,"b":2,"c":3}"#, #"{"b":2}"#, #"{"a":1, "b":2, "c":3 }"#, #"{ "b":2 }"#),
      Example("all deleted", #"{"a":1,"b":2}"#, "{}", #"{ "a":1, "b":2 }"#, "{ }"),
      Example(
        "last deleted and one added",
        #"{"a":1,"b":2}"#,
        #"{"a":1,"c":3}"#,
        #"{"a":1, "b":2 }"#,
        #"{"a":1,"c":3 }"#
      ),
      Example("all deleted and one added", #"{"a":1,"b":2}"#, #"{"c":3}"#, #"{ "a":1, "b":2 }"#, #"{"c":3 }"#),
      Example("deleted by me, changed by them", #"{"a":1,"b":2}"#, #"{"b":2}"#, #"{"a":9,"b":2}"#, #"{"b":2}"#),
      Example("changed by me, deleted by them", #"{"a":1,"b":2}"#, #"{"a":9,"b":2}"#, #"{"b":2}"#, #"{"a":9,"b":2}"#),
      Example("deleted by them", #"{"a":1,"b":2}"#, #"{"a":1,"b":3}"#, #"{"b":2}"#, #"{"b":3}"#),
      Example("deleted by both", #"{"a":1,"b":2}"#, #"{"b":3}"#, #"{"b":2}"#, #"{"b":3}"#),
      Example(
        "within deleted by them",
        #"{"o":{"a":1,"b":1},"x":0}"#,
        #"{"o":{"a":2,"b":1},"x":0}"#,
        #"{"x":5}"#,
        #"{"o":{"a":2,"b":1},"x":5}"#
      ),
      Example(
        "a repeated key is deleted with all it has",
        #"{"a":1,"b":2}"#,
        #"{"b":2}"#,
        #"{"a":1,"b":2,"a":3}"#,
        #"{"b":2}"#
      ),
      Example(
        "of a repeated key the first counts",
        #"{"a":1,"b":2}"#,
        #"{"a":5,"b":2}"#,
        #"{"a":1,"b":2,"a":3}"#,
        #"{"a":5,"b":2,"a":3}"#
      ),
      Example(
        "a repeated key of mine",
        #"{"a":1,"b":2}"#,
        #"{"a":5,"b":2,"a":3}"#,
        #"{"a":1,"b":4}"#,
        #"{"a":5,"b":4}"#
      ),
      Example(
        "arrays are leaves",
        #"{"a":[1,2],"b":1}"#,
        #"{"a":[1,2,3],"b":1}"#,
        #"{"a":[0,1,2],"b":2}"#,
        #"{"a":[1,2,3],"b":2}"#
      ),
      Example("a top level that is a scalar", "1", "2", " 3\n", " 2\n"),
      Example("a top level that is an array", "[1]", "[1,2]", "[0,1]", "[1,2]"),
      Example("a top level that is an object only to me", #"{"a":1}"#, #"{"a":2}"#, "[]", #"{"a":2}"#),
      Example("a top level that was a scalar", "1", #"{"a":2,"b":2}"#, #"{"c":2,"d":2}"#, #"{"a":2,"b":2}"#),
      Example("unchanged top level", "1", "1.0", " 3\n", " 3\n"),
      Example(
        "a key with escapes",
        #"{"é":1,"b":1}"#,
        #"{"é":2,"b":1}"#,
        #"{"\u00e9":1,"b":3}"#,
        #"{"\u00e9":2,"b":3}"#
      ),
      Example(
        "a byte order mark",
        #"{"a":1,"b":1}"#,
        #"{"a":2,"b":1}"#,
        "\u{FEFF}" + #"{"a":1}"#,
        "\u{FEFF}" + #"{"a":2}"#
      ),
    ]
  )
  func examples(_ example: Example) throws {
    let merged = try ThreeWayMerge.merge(base: example.base, mine: example.mine, theirs: example.theirs)
    #expect(merged == example.merged)
  }

  @Test(
    "A merge replaces an enum as a whole if a side changed its case",
    arguments: [
      Example(
        "I changed the case",
        #"{"e":{"a":{"_0":1}}}"#,
        #"{"e":{"b":{}}}"#,
        #"{"e":{"a":{"_0":1}}}"#,
        #"{"e":{"b":{}}}"#
      ),
      Example("both changed the case", #"{"e":{"a":{}}}"#, #"{"e":{"b":{}}}"#, #"{"e":{"c":{}}}"#, #"{"e":{"b":{}}}"#),
      Example(
        "I changed what is in it, they the case",
        #"{"e":{"a":{"_0":1}}}"#,
        #"{"e":{"a":{"_0":2}}}"#,
        #"{"e":{"c":{}}}"#,
        #"{"e":{"a":{"_0":2}}}"#
      ),
      Example(
        "they changed the case",
        #"{"e":{"a":{}},"x":1}"#,
        #"{"e":{"a":{}},"x":2}"#,
        #"{"e":{"c":{}},"x":1}"#,
        #"{"e":{"c":{}},"x":2}"#
      ),
      Example(
        "both set an optional one",
        #"{"x":1}"#,
        #"{"x":1,"e":{"b":{}}}"#,
        #"{"x":1,"e":{"c":{}}}"#,
        #"{"x":1,"e":{"b":{}}}"#
      ),
      Example(
        "different parts of one case",
        #"{"e":{"a":{"m":1,"n":1}}}"#,
        #"{"e":{"a":{"m":2,"n":1}}}"#,
        #"{"e":{"a":{"m":1,"n":2}}}"#,
        #"{"e":{"a":{"m":2,"n":2}}}"#
      ),
      Example(
        "but not what has other members to somebody else",
        #"{"o":{"a":1}}"#,
        #"{"o":{"b":1}}"#,
        #"{"o":{"a":1,"unknown":1}}"#,
        #"{"o":{"b":1,"unknown":1}}"#
      ),
    ]
  )
  func enums(_ example: Example) throws {
    let merged = try ThreeWayMerge.merge(base: example.base, mine: example.mine, theirs: example.theirs)
    #expect(merged == example.merged)
  }

  @Test("A merge keeps every digit of numbers that no Swift type can hold")
  func numberPrecision() throws {
    let numbers = #""i":18446744073709551616,"d":0.1000000000000000055511151231257827,"e":1E400,"z":-0.0"#
    let merged = try ThreeWayMerge.merge(
      base: #"{"x":1}"#,
      mine: #"{"x":9007199254740993}"#,
      theirs: "{\(numbers),\"x\":1}"
    )
    #expect(merged == "{\(numbers),\"x\":9007199254740993}")
  }

  @Test("A merge does not mistake a decoder's rounding for a change")
  func rounding() throws {
    // The document of a service that decodes the number as a Double and encodes it again.
    let rounded = #"{"price":1.2345678901234568e+19,"x":1}"#
    let merged = try ThreeWayMerge.merge(
      base: rounded,
      mine: rounded.replacingOccurrences(of: "\"x\":1", with: "\"x\":2"),
      theirs: #"{"price":12345678901234567890.12,"x":1}"#
    )
    #expect(merged == #"{"price":12345678901234567890.12,"x":2}"#)
  }

  @Test("Old and new releases of a type do not erase each other's fields")
  func rollingDeploy() throws {
    struct Old: Codable {
      var limit: Int
      var nested: Nested
      struct Nested: Codable { var name: String }
    }
    struct New: Codable {
      var limit: Int
      var currency: String?
      var nested: Nested
      struct Nested: Codable {
        var name: String
        var note: String?
      }
    }
    func save<Value: Codable>(_ type: Value.Type, in stored: Data, _ change: (inout Value) -> Void) throws -> Data {
      let confirmed = try JSONDecoder().decode(type, from: stored)
      var value = confirmed
      change(&value)
      let (base, mine) = (try JSONEncoder().encode(confirmed), try JSONEncoder().encode(value))
      return try ThreeWayMerge.merge(base: base, mine: mine, theirs: stored).document
    }
    var stored = Data(#"{"limit":1,"nested":{"name":"n"}}"#.utf8)
    stored = try save(New.self, in: stored) { ($0.currency, $0.nested.note) = ("EUR", "new") }
    stored = try save(Old.self, in: stored) { ($0.limit, $0.nested.name) = (2, "m") }
    stored = try save(New.self, in: stored) { $0.limit += 1 }
    stored = try save(Old.self, in: stored) { $0.nested.name = "l" }
    let value = try JSONDecoder().decode(New.self, from: stored)
    #expect(value.limit == 3)
    #expect(value.currency == "EUR")
    #expect(value.nested.name == "l")
    #expect(value.nested.note == "new")
  }

  @Test("A merge fails on invalid JSON, but returns their text unread if I changed nothing")
  func notJSON() throws {
    let failure = JSONParsingError(reason: .unexpectedByte, offset: 0)
    #expect(throws: failure) { try ThreeWayMerge.merge(base: "1", mine: "2", theirs: "hello") }
    #expect(throws: failure) { try ThreeWayMerge.merge(base: "1", mine: "hello", theirs: "2") }
    #expect(throws: failure) { try ThreeWayMerge.merge(base: "hello", mine: "1", theirs: "2") }
    #expect(try ThreeWayMerge.merge(base: "1", mine: "1", theirs: "hello") == "hello")
  }

  @Test("The deepest documents are merged on a small stack")
  func deepDocuments() async throws {
    let depth = JSONDocument.maximumDepth
    func nested(_ leaf: String) -> String {
      String(repeating: #"{"a":1,"o":"#, count: depth - 1) + "{\(leaf)}" + String(repeating: "}", count: depth - 1)
    }
    let (base, mine, theirs) = (nested(#""x":1,"y":1"#), nested(#""x":2,"y":1"#), nested(#""y":1,"x":1,"z":0"#))
    let merged = try await onThread(stackSize: 65_536) {
      try ThreeWayMerge.merge(base: base, mine: mine, theirs: theirs)
    }
    #expect(merged == nested(#""y":1,"x":2,"z":0"#))
    // Equal values with different spellings are compared down to the innermost.
    let arrays = String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
    let written = arrays.replacingOccurrences(of: "1", with: "1.0")
    #expect(
      try await onThread(stackSize: 65_536) { try ThreeWayMerge.merge(base: arrays, mine: written, theirs: "3") } == "3"
    )
  }
}
