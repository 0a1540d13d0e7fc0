import Foundation
import Testing

@testable import SharedState

@Suite("SkippedWhenUnknown", .timeLimit(.minutes(5)))
struct SkippedWhenUnknownTests {
  enum Flag: String, SkippedWhenUnknown { case a, b, c }
  enum Level: Int, SkippedWhenUnknown { case low = 1, high }

  private func value<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try Coders().value(type, text)
  }

  @Test("Collections skip unknown values")
  func collectionsSkipUnknownValues() throws {
    #expect(try value([Flag].self, #"["x","a","b","x","a"]"#) == [.a, .b, .a])
    #expect(try value(Set<Flag>.self, #"["x","a"]"#) == [.a])
    #expect(try value([Flag: Int].self, #"{"x":1,"a":2}"#) == [.a: 2])
    #expect(try value([Level].self, "[3,2,1]") == [.high, .low])
    #expect(try value([Level: [Flag]].self, #"{"3":["a"],"1":["x","b"]}"#) == [.low: [.b]])
    #expect(try value([[Flag]].self, #"[["x"],["a"]]"#) == [[], [.a]])
    #expect(try value([Flag].self, "[]") == [])
  }

  @Test(
    "A value of another kind is an error",
    arguments: [#"["a",1]"#, #"["a",null]"#, #"["a",{}]"#, #"["a",["b"]]"#, #"{"a":1}"#]
  )
  func otherKind(text: String) {
    #expect(throws: DecodingError.self) { try value([Flag].self, text) }
    #expect(throws: DecodingError.self) { try value(Set<Flag>.self, text) }
  }

  @Test("An unknown single value, dictionary value or optional element is an error")
  func singleUnknownValue() {
    #expect(throws: DecodingError.self) { try value(Flag.self, #""x""#) }
    #expect(throws: DecodingError.self) { try value([String: Flag].self, #"{"a":"x"}"#) }
    #expect(throws: DecodingError.self) { try value([Flag?].self, #"["x"]"#) }
  }

  @Test("The value of a skipped entry is not read")
  func skippedEntry() throws {
    #expect(try value([Flag: Int].self, #"{"x":"no number","a":2}"#) == [.a: 2])
  }

  private func merge<Value: Codable & Sendable>(
    _ raw: String,
    _ theirs: String? = nil,
    change: (inout Value) -> Void
  ) throws -> String {
    let coders = try Coders()
    func formed(_ value: Value) throws -> FormedDocument {
      try coders.encoder.encode(value, formsReadBy: coders.decoder).formed()
    }
    var mine = try coders.value(Value.self, raw)
    change(&mine)
    let outcome = try ThreeWayMerge.merge(
      raw: document(raw),
      base: formed(coders.value(Value.self, raw)),
      mine: formed(mine),
      theirs: document(theirs ?? raw)
    )
    return String(decoding: outcome.document, as: UTF8.self)
  }

  @Test("Changes keep unknown elements")
  func changesKeepUnknownElements() throws {
    #expect(try merge(#"["x","a","y","b"]"#) { (flags: inout [Flag]) in flags.append(.c) } == #"["x","a","y","b","c"]"#)
    #expect(try merge(#"["x","a","y","b"]"#) { (flags: inout [Flag]) in flags.removeFirst() } == #"["x","y","b"]"#)
    #expect(try merge(#"["a","x","a"]"#) { (flags: inout [Flag]) in flags.removeLast() } == #"["a","x"]"#)
    #expect(try merge(#"["x"]"#) { (flags: inout [Flag]) in flags = [.a] } == #"["x","a"]"#)
    #expect(try merge(#"["x","x","a"]"#) { (flags: inout [Flag]) in flags = [] } == #"["x","x"]"#)
    #expect(try merge(#"["a","x"]"#) { (flags: inout Set<Flag>) in flags = [.c] } == #"["c","x"]"#)
    #expect(try merge(#"{"x":1,"a":2}"#) { (flags: inout [Flag: Int]) in flags = [.b: 3] } == #"{"b":3,"x":1}"#)
    #expect(try merge("[3,1]") { (levels: inout [Level]) in levels = [.high] } == "[3,2]")
  }

  @Test("Changes of both sides to a list with unknown elements are merged")
  func mergedChanges() throws {
    let merged = try merge(#"["x","a"]"#, #"["x","a","y"]"#) { (flags: inout [Flag]) in flags = [.a, .b] }
    for flag in ["x", "a", "b", "y"] { #expect(merged.contains("\"\(flag)\"")) }
    #expect(try merge(#"["x","a"]"#, #"["a"]"#) { (flags: inout [Flag]) in flags = [.a, .b] } == #"["a","b"]"#)
  }
}
