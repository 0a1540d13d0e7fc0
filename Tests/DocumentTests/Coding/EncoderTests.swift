import Foundation
import Testing

@testable import SharedState

@Suite("DocumentEncoder", .timeLimit(.minutes(5)))
struct EncoderTests {
  enum Size: String, Codable, Hashable { case small, large }
  enum Level: Int, Codable, Hashable { case low = 2, high = 10 }
  struct Point: Codable, Hashable { var x: Int, y: Int }

  struct Pair: Codable {
    var zulu = 1, alpha = "x"
  }

  @Test("Members are written in the order of the type")
  func memberOrder() throws {
    #expect(try Coders().text(Pair()) == #"{"zulu":1,"alpha":"x"}"#)
  }

  @Test("Sets are written in canonical order")
  func canonicalSets() throws {
    let coders = try Coders()
    #expect(try coders.text(Set([10, 9, -1, 100])) == "[-1,9,10,100]")
    #expect(
      try coders.text(Set(["b", "é", "a\n", "a", "B", "😀", "\u{FFFD}"])) == #"["B","a","a\n","b","é","\#u{FFFD}","😀"]"#
    )
    #expect(try coders.text(Set([0.5, 1e21, -2, 10])) == "[-2,0.5,10,1e+21]")
    #expect(try coders.text(Set([Point(x: 2, y: 1), Point(x: 1, y: 2)])) == #"[{"x":1,"y":2},{"x":2,"y":1}]"#)
    #expect(try coders.text(Set([Set([3, 1]), Set([2])])) == "[[1,3],[2]]")
    #expect(try coders.text(Set([UInt64.max, 0])) == "[0,18446744073709551615]")
    #expect(try coders.text(Set([nil, 2, 1])) == "[1,2,null]")
  }

  @Test("Dictionaries are written in canonical order, as objects where their keys allow it")
  func canonicalDictionaries() throws {
    let coders = try Coders()
    #expect(try coders.text(["b": 1, "a": 2, "é": 3]) == #"{"a":2,"b":1,"é":3}"#)
    #expect(try coders.text([10: "x", 9: "y", -1: "z"]) == #"{"-1":"z","9":"y","10":"x"}"#)
    #expect(try coders.text([Size.small: 1, .large: 2]) == #"{"large":2,"small":1}"#)
    #expect(try coders.text([Level.high: 1, .low: 2]) == #"{"2":2,"10":1}"#)
    #expect(try coders.text([UInt8(200): 1, 3: 2]) == #"{"3":2,"200":1}"#)
    #expect(try coders.text([0.5: 1, 10: 2]) == #"{"0.5":1,"10":2}"#)
    #expect(try coders.text([UUID?.none: 1]) == "[null,1]")
    #expect(try coders.text([true: 1, false: 2]) == "[false,2,true,1]")
    #expect(try coders.text([Point(x: 2, y: 0): 1, Point(x: 1, y: 0): 2]) == #"[{"x":1,"y":0},2,{"x":2,"y":0},1]"#)
    #expect(try coders.text([Size: Int]()) == "{}")
  }

  @Test("Dictionaries become arrays on request, unless their keys are strings or integers")
  func dictionariesAsArrays() throws {
    let coders = try Coders(usesArraysForDictionaries: true)
    #expect(try coders.text([Level.high: 1, .low: 2]) == "[2,2,10,1]")
    #expect(try coders.text(["b": 1, "a": 2]) == #"{"a":2,"b":1}"#)
    #expect(try coders.text([3: 1]) == #"{"3":1}"#)
  }

  @Test("Dictionaries are read in both forms")
  func dictionariesInBothForms() throws {
    let id = UUID()
    for coders in [try Coders(), try Coders(usesArraysForDictionaries: true)] {
      func survives<Value: Codable & Equatable>(_ value: Value) throws {
        #expect(try coders.value(Value.self, coders.text(value)) == value)
        #expect(try coders.value(Value.self, String(decoding: JSONEncoder().encode(value), as: UTF8.self)) == value)
      }
      try survives([id: ["a"]])
      try survives([Size.small: 1, .large: 2])
      try survives([Level.high: Point(x: 1, y: 2)])
      try survives([Int8(-3): 1, 100: 2])
      try survives([0.1: 1])
      try survives([UInt64.max: 1])
      try survives([Point(x: 1, y: 2): 1])
      try survives([URL(string: "https://example.com/a"): 1])
      try survives(["1": 1])
      try survives([[1: [Size.small: true]]])
    }
  }

  @Test("Different keys with the same text stay separate")
  func keysWithSameText() throws {
    struct Odd: Codable, Hashable {
      var id: Int
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if id == 0 { try container.encode("1") } else { try container.encode(id) }
      }
    }
    #expect(try Coders().text([Odd(id: 0): "zero", Odd(id: 1): "one"]) == #"[1,"one","1","zero"]"#)
  }

  @Test("Repeated names in an element of a set do not affect other elements")
  func repeatedNamesInSet() throws {
    struct Element: Encodable, Hashable {
      let id: Int
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        if id < 20 {
          var first = container.nestedContainer(keyedBy: Name.self, forKey: Name("n"))
          try first.encode(id, forKey: Name("a"))
          var second = container.nestedContainer(keyedBy: Name.self, forKey: Name("n"))
          try second.encode(id, forKey: Name("b"))
        } else {
          try container.encode(["a": id], forKey: Name("n"))
          try container.encode(["b": id], forKey: Name("n"))
        }
      }
    }
    let expected = (10..<30).map { $0 < 20 ? "{\"n\":{\"a\":\($0),\"b\":\($0)}}" : "{\"n\":{\"b\":\($0)}}" }
    #expect(try Coders().text(Set((10..<30).map(Element.init))) == "[\(expected.joined(separator: ","))]")
  }

  /// Throws while nested containers are open.
  struct Leaving: Encodable, Hashable {
    struct Reason: Error {}
    let isDeep: Bool

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Name.self)
      try container.encode(1, forKey: Name("a"))
      var nested = container.nestedContainer(keyedBy: Name.self, forKey: Name("b"))
      var inner = nested.nestedUnkeyedContainer(forKey: Name("c"))
      try inner.encode(1)
      if isDeep { try inner.encode(Leaving(isDeep: false)) }
      throw Reason()
    }
  }

  /// Goes on after a failure.
  struct Staying: Encodable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      for isDeep in [true, false] {
        try? container.encode(Leaving(isDeep: isDeep))
        try? container.encode(Set([Leaving(isDeep: isDeep)]))
        try? container.encode([Leaving(isDeep: isDeep): 1])
      }
    }
  }

  /// Holds nested containers, and writes one of them too deeply for JSON.
  struct TooDeep: Encodable {
    func encode(to encoder: any Encoder) throws {
      var containers = [encoder.unkeyedContainer()]
      for _ in 0..<600 { containers.append(containers[containers.count - 1].nestedUnkeyedContainer()) }
    }
  }

  private final class Sentinel: Sendable {}

  @Test("Failed encodings leave nothing in memory")
  func nothingStaysInMemory() throws {
    weak var sentinel: Sentinel?
    let key = try #require(CodingUserInfoKey(rawValue: "sentinel"))
    func write(_ value: some Encodable) throws {
      let object = Sentinel()
      sentinel = object
      let coders = try Coders { encoder, _ in encoder.userInfo[key] = object }
      _ = try? coders.text(value)
    }
    try write([Leaving(isDeep: true)])
    #expect(sentinel == nil)
    try write(Set([Leaving(isDeep: false)]))
    #expect(sentinel == nil)
    try write([Leaving(isDeep: true): 1])
    #expect(sentinel == nil)
    try write(Staying())
    #expect(sentinel == nil)
    try write([TooDeep()])
    #expect(sentinel == nil)
  }

  enum RequestID: Codable, Hashable {
    case number(Int), string(String)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int.self) {
        self = .number(number)
      } else {
        self = .string(try container.decode(String.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .number(let number): try container.encode(number)
      case .string(let string): try container.encode(string)
      }
    }
  }

  @Test("Keys of dictionaries keep their cases and values")
  func preservedKeys() throws {
    func survives<Key: Codable & Hashable>(_ dictionary: [Key: Int], as text: String) throws {
      for coders in [try Coders(), try Coders(usesArraysForDictionaries: true)] {
        #expect(try coders.value([Key: Int].self, coders.text(dictionary)) == dictionary)
      }
      #expect(try Coders().text(dictionary) == text)
    }
    try survives([RequestID.number(1): 1], as: "[1,1]")
    try survives([RequestID.string("1"): 1], as: #"{"1":1}"#)
    try survives([RequestID.string("1"): 1, .number(1): 2], as: #"[1,2,"1",1]"#)
    try survives([RequestID?.some(.number(1)): 1, nil: 2], as: "[1,1,null,2]")
    try survives([RequestID?.some(.string("a")): 1], as: #"{"a":1}"#)
    try survives([Int8?.some(1): 1], as: #"{"1":1}"#)
    try survives([Level.low: 1], as: #"{"2":1}"#)
    try survives([Date(timeIntervalSinceReferenceDate: 1.5): 1], as: #"{"1.5":1}"#)
    try survives([Decimal(1) / 8: 1], as: #"{"0.125":1}"#)
  }

  @Test("A value that fails to encode leaves no text behind")
  func failedValueText() throws {
    struct Failing: Encodable {
      struct Reason: Error {}
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        try container.encode([1, 2], forKey: Name("a"))
        _ = container.nestedUnkeyedContainer(forKey: Name("b"))
        throw Reason()
      }
    }
    struct Careful: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(1, forKey: Name("first"))
        #expect(throws: Failing.Reason.self) { try container.encode(Failing(), forKey: Name("failing")) }
        #expect(throws: Failing.Reason.self) { try container.encode([Failing()], forKey: Name("failing")) }
        try container.encode(2, forKey: Name("failing"))
      }
    }
    #expect(try Coders().text([Careful()]) == #"[{"first":1,"failing":2}]"#)
  }

  @Test("A second container of the same name continues the first")
  func continuedContainer() throws {
    struct Twice: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        var first = container.nestedContainer(keyedBy: Name.self, forKey: Name("n"))
        try first.encode(1, forKey: Name("a"))
        try container.encode(0, forKey: Name("z"))
        var second = container.nestedContainer(keyedBy: Name.self, forKey: Name("n"))
        try second.encode(2, forKey: Name("b"))
        try second.encode(3, forKey: Name("a"))
        try container.encode(4, forKey: Name("z"))
      }
    }
    #expect(try Coders().text([Twice()]) == #"[{"n":{"a":3,"b":2},"z":4}]"#)
  }

  @Test("Repeated names among many are written once, with the last value")
  func manyRepeatedNames() throws {
    struct Many: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for number in 0..<200 { try container.encode(number, forKey: Name("m\(number % 150)")) }
      }
    }
    let data = try Coders().encoder.encode(Many())
    let members = try JSONDecoder().decode([String: Int].self, from: data)
    #expect(members.count == 150)
    #expect(members["m3"] == 153)
    #expect(String(decoding: data, as: UTF8.self).components(separatedBy: #""m3":"#).count == 2)
  }

  @Test("Misused containers and NaN decimals are errors")
  func misuseIsAnError() throws {
    struct Twice: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(1)
        try container.encode(2)
      }
    }
    struct Both: Encodable {
      func encode(to encoder: any Encoder) throws {
        _ = encoder.unkeyedContainer()
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(1, forKey: Name("a"))
      }
    }
    #expect(throws: EncodingError.self) { try Coders().text([Twice()]) }
    #expect(throws: EncodingError.self) { try Coders().text([Both()]) }
    #expect(throws: EncodingError.self) { try Coders().text([Decimal.nan]) }
  }

  @Test("Subclasses of the JSON coders and JSON5 decoders are not supported")
  func unsupportedCoders() {
    class Own: JSONEncoder, @unchecked Sendable {}
    class OwnDecoder: JSONDecoder, @unchecked Sendable {}
    #expect(DocumentEncoder(Own()) == nil)
    #expect(DocumentDecoder(OwnDecoder()) == nil)
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    #expect(DocumentDecoder(decoder) == nil)
  }
}
