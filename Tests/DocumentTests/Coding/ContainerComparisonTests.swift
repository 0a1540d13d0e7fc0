import Foundation
import Testing

@testable import SharedState

/// Containers, their paths and their errors, compared with JSONEncoder and JSONDecoder.
@Suite("Containers, compared with Foundation", .timeLimit(.minutes(5)))
struct ContainerComparisonTests {
  struct Inner: Codable, Equatable {
    var number: Int
    var name: String?
  }

  struct Outer: Codable, Equatable {
    var inner: Inner
    var list: [Inner]
    var map: [String: Inner]
    var numbers: [Int: Inner]
    var optional: Inner?
  }

  static let inner = #"{"number":1}"#

  @Test(
    "Structures are read as Foundation reads them",
    arguments: [
      #"{}"#, #"[]"#, #"1"#, #"null"#, #"{"inner":{}}"#, #"{"inner":{"number":"x"}}"#, #"{"inner":{"number":null}}"#,
      #"{"inner":[]}"#, #"{"inner":{"number":1,"name":2}}"#, #"{"inner":{"number":1,"name":null}}"#,
      #"{"inner":\#(inner),"list":{}}"#, #"{"inner":\#(inner),"list":[1]}"#,
      #"{"inner":\#(inner),"list":[\#(inner),{}]}"#,
      #"{"inner":\#(inner),"list":[null]}"#, #"{"inner":\#(inner),"list":[],"map":[]}"#,
      #"{"inner":\#(inner),"list":[],"map":{"a b":{}}}"#, #"{"inner":\#(inner),"list":[],"map":{"a":null}}"#,
      #"{"inner":\#(inner),"list":[],"map":{},"numbers":{"1":{}}}"#,
      #"{"inner":\#(inner),"list":[],"map":{},"numbers":{"x":\#(inner)}}"#,
      #"{"inner":\#(inner),"list":[],"map":{},"numbers":[]}"#,
      #"{"inner":\#(inner),"list":[],"map":{},"numbers":{"-1":\#(inner)},"optional":null}"#,
      #"{"inner":\#(inner),"list":[],"map":{},"numbers":{},"optional":{}}"#,
      #"{"inner":\#(inner),"inner":1,"list":[],"list":2,"map":{},"numbers":{},"optional":\#(inner),"more":[{}]}"#,
    ]
  )
  func structuresAreReadAlike(text: String) throws {
    try Comparison().read(Outer.self, text)
    try Comparison().read([Outer].self, "[\(text)]")
    try Comparison().read([String: Outer].self, "{\"fooBar\":\(text)}")
    try Comparison().read(Outer?.self, text)
    let both = try Comparison { _, decoder in decoder.keyDecodingStrategy = .convertFromSnakeCase }
    both.read([String: Outer].self, "{\"foo_bar\":\(text)}")
    both.read([Int: Outer].self, "{\"1\":\(text)}")
  }

  class Animal: Codable {
    var legs: Int

    init(legs: Int) { self.legs = legs }
  }

  final class Dog: Animal {
    enum Parent: CaseIterable { case plain, named, same }
    enum CodingKeys: String, CodingKey { case name, parent }

    static let parent = TaskLocal<Parent>(wrappedValue: .plain)

    let name: String

    init(name: String) {
      self.name = name
      super.init(legs: 4)
    }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      switch Self.parent.get() {
      case .plain: try super.init(from: container.superDecoder())
      case .named: try super.init(from: container.superDecoder(forKey: .parent))
      case .same: try super.init(from: decoder)
      }
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      switch Self.parent.get() {
      case .plain: try super.encode(to: container.superEncoder())
      case .named: try super.encode(to: container.superEncoder(forKey: .parent))
      case .same: try super.encode(to: encoder)
      }
    }
  }

  @Test("Classes with a superclass are read and written as by Foundation", arguments: Dog.Parent.allCases)
  func classesAreAlike(parent: Dog.Parent) throws {
    try Dog.parent.withValue(parent) {
      let both = try Comparison()
      try both.write(Dog(name: "x"))
      try both.write(["a": [Dog(name: "x")]])
      for text in [
        #"{"name":"x","super":{"legs":3}}"#, #"{"name":"x","parent":{"legs":3}}"#, #"{"name":"x","legs":3}"#,
        #"{"name":"x"}"#, #"{"name":"x","super":1,"parent":1,"legs":"x"}"#, #"{"name":"x","super":{},"parent":{}}"#,
        #"{"name":"x","super":null,"parent":null,"legs":null}"#, #"{"super":{"legs":1}}"#,
      ] {
        both.read(Dog.self, text)
        both.read([Dog].self, "[\(text)]")
      }
    }
  }

  /// Records the paths that it sees, in containers of all kinds.
  struct Paths: Encodable {
    struct Leaf: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Paths.text(encoder.codingPath))
      }
    }

    static func text(_ path: [any CodingKey]) -> String {
      path.map { $0.intValue.map { "<\($0)>" } ?? $0.stringValue }.joined(separator: ".")
    }

    let isDeep: Bool

    func encode(to encoder: any Encoder) throws {
      var object = encoder.container(keyedBy: Name.self)
      try object.encode(Self.text(object.codingPath), forKey: Name("a"))
      try object.encode(Leaf(), forKey: Name("b"))
      try object.encode([Leaf(), Leaf()], forKey: Name("c"))
      try object.encode(["x": Leaf()], forKey: Name("d"))
      try object.encode([7: Leaf()], forKey: Name("e"))
      try Leaf().encode(to: object.superEncoder())
      try Leaf().encode(to: object.superEncoder(forKey: Name("f")))
      var nested = object.nestedContainer(keyedBy: Name.self, forKey: Name("g"))
      try nested.encode(Self.text(nested.codingPath), forKey: Name("a"))
      var array = nested.nestedUnkeyedContainer(forKey: Name("b"))
      try array.encode(Self.text(array.codingPath))
      var inner = array.nestedContainer(keyedBy: Name.self)
      try inner.encode(Self.text(inner.codingPath), forKey: Name("a"))
      guard isDeep else { return }
      try nested.encode(Leaf(), forKey: Name("c"))
      try array.encode(Leaf())
      try inner.encode([Leaf()], forKey: Name("b"))
      try Leaf().encode(to: array.superEncoder())
    }
  }

  @Test("Coding paths match those of Foundation")
  func pathsAreAlike() throws {
    try Comparison().write(Paths(isDeep: false))
    try Comparison().write([Paths(isDeep: false)])
    try Comparison().write(["x": ["y": Paths(isDeep: false)]])
  }

  /// A JSONEncoder's values in nested containers do not know what is around the containers.
  @Test("Coding paths of values in nested containers are complete")
  func nestedPaths() throws {
    let text = try Coders().text(Paths(isDeep: true))
    #expect(
      text.contains(#""g":{"a":"g","b":["g.b",{"a":"g.b.<1>","b":["g.b.<1>.b.<0>"]},"g.b.<2>","g.b.<3>"],"c":"g.c"}"#)
    )
  }

  /// Fails in all kinds of places.
  struct Failing: Encodable {
    let place: Int

    func encode(to encoder: any Encoder) throws {
      switch place {
      case 0:
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(Double.nan, forKey: Name("a"))
      case 1:
        var container = encoder.unkeyedContainer()
        try container.encode(1)
        try container.encode(Float.infinity)
      case 2:
        var container = encoder.singleValueContainer()
        try container.encode(-Double.infinity)
      case 3:
        var container = encoder.container(keyedBy: Name.self)
        var nested = container.nestedUnkeyedContainer(forKey: Name("a"))
        try nested.encode([0, .nan])
      case 4:
        var container = encoder.unkeyedContainer()
        var nested = container.nestedContainer(keyedBy: Name.self)
        try nested.encode(["x": Double.nan], forKey: Name("a"))
      case 5:
        var container = encoder.container(keyedBy: Name.self)
        try Failing(place: 0).encode(to: container.superEncoder())
      case 6:
        var container = encoder.unkeyedContainer()
        try Failing(place: 1).encode(to: container.superEncoder())
      case 7:
        var container = encoder.container(keyedBy: Name.self)
        try container.encode([1: Double.nan], forKey: Name("a"))
      case 8:
        var container = encoder.container(keyedBy: Name.self)
        try container.encode([Failing(place: 2)], forKey: Name("a"))
      default: break
      }
    }
  }

  @Test("Encoding errors match those of Foundation", arguments: 0..<10)
  func failuresAreWrittenAlike(place: Int) throws {
    try Comparison().write(Failing(place: place))
    try Comparison().write([Failing(place: place)])
    try Comparison().write(["a": Failing(place: place)])
  }

  /// Goes through an array and past its end. There only JSONDecoder goes on counting missing elements.
  struct Walk: Decodable {
    var lines: [String] = []

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      func note(_ label: String, _ body: (inout any UnkeyedDecodingContainer) throws -> Any) {
        var line = "\(label) at \(container.currentIndex) of \(container.count ?? -1), \(container.isAtEnd): "
        do {
          line += "\(try body(&container))"
        } catch DecodingError.valueNotFound(let type, let context) {
          line += "\(type) not found at \(context.codingPath.map(\.stringValue))"
        } catch DecodingError.typeMismatch(let type, let context) {
          line += "\(type) mistyped at \(context.codingPath.map(\.stringValue))"
        } catch {
          line += "\(type(of: error))"
        }
        lines.append(line)
      }
      for _ in 0..<3 {
        note("nil") { try $0.decodeNil() }
        note("Bool") { try $0.decode(Bool.self) }
        note("Int") { try $0.decode(Int.self) }
        if !container.isAtEnd { note("Int?") { try $0.decodeIfPresent(Int.self) as Any } }
        if !container.isAtEnd { note("String?") { try $0.decodeIfPresent(String.self) as Any } }
        note("Inner") { try $0.decode(Inner.self) }
        if !container.isAtEnd { note("Inner?") { try $0.decodeIfPresent(Inner.self) as Any } }
        note("[Int]") { try $0.decode([Int].self) }
        note("object") { try $0.nestedContainer(keyedBy: Name.self).allKeys.count }
        note("array") { try $0.nestedUnkeyedContainer().count ?? -1 }
        note("super") { try $0.superDecoder().codingPath.map(\.stringValue) }
      }
    }
  }

  @Test(
    "Arrays are read as Foundation reads them, even past the end",
    arguments: [
      "[]", "[null]", "[1]", "[null,null,true,1,\"x\",{\"number\":1},[1],{},[]]", "[[],{},[1,2]]",
      "[null,1,null,\"x\"]",
      "[{\"number\":1},{\"number\":2},null,[null]]", "{}", "null", "[\"x\",[\"x\"]]",
    ]
  )
  func arraysAreWalkedAlike(text: String) throws {
    try Comparison().read(Walk.self, text)
    try Comparison().read([String: Walk].self, "{\"a\":\(text)}")
  }

  struct Sequences: Encodable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      try container.encode(contentsOf: [1, 2])
      try container.encode(contentsOf: ["a", "b"])
      try container.encode(contentsOf: [true])
      try container.encode(contentsOf: [0.5, 1])
      try container.encode(contentsOf: [Inner(number: 1, name: "x")])
      try container.encode(contentsOf: [[1], []])
      try container.encode(contentsOf: [UInt8]())
      try container.encode(container.count)
      try container.encodeConditional(Animal(legs: 2))
      var nested = container.nestedUnkeyedContainer()
      try nested.encode(contentsOf: [Date(timeIntervalSince1970: 0)])
      try nested.encodeNil()
    }
  }

  @Test("Sequences are written as Foundation writes them")
  func sequencesAreWrittenAlike() throws {
    try Comparison().write(Sequences())
    try Comparison().write([Sequences()])
  }

  struct Nothing: Encodable { func encode(to encoder: any Encoder) throws {} }

  struct Empty: Encodable {
    let kind: Int
    func encode(to encoder: any Encoder) throws {
      switch kind {
      case 0: _ = encoder.container(keyedBy: Name.self)
      case 1: _ = encoder.unkeyedContainer()
      case 2: _ = encoder.singleValueContainer()
      case 3:
        var container = encoder.container(keyedBy: Name.self)
        _ = container.nestedContainer(keyedBy: Name.self, forKey: Name("a"))
        _ = container.nestedUnkeyedContainer(forKey: Name("b"))
      case 4:
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(Nothing(), forKey: Name("a"))
        _ = container.superEncoder()
      default:
        var container = encoder.unkeyedContainer()
        try container.encode(Nothing())
        _ = container.nestedUnkeyedContainer()
        _ = container.nestedContainer(keyedBy: Name.self)
        _ = container.superEncoder()
      }
    }
  }

  @Test(
    "Empty containers are written as Foundation writes them",
    arguments: [[], [.prettyPrinted], [.prettyPrinted, .withoutEscapingSlashes]] as [JSONEncoder.OutputFormatting]
  )
  func emptyContainers(_ formatting: JSONEncoder.OutputFormatting) throws {
    let both = try Comparison { encoder, _ in encoder.outputFormatting = formatting.union(.sortedKeys) }
    try both.write(Nothing())
    try both.write([Nothing()])
    try both.write(["a": Nothing()])
    for kind in 0..<6 {
      try both.write(Empty(kind: kind))
      try both.write([Empty(kind: kind), Empty(kind: kind)])
    }
    try both.write(Outer(inner: Inner(number: 1), list: [], map: [:], numbers: [:]))
    try both.write(
      Outer(
        inner: Inner(number: 1, name: "a/b"),
        list: [Inner(number: 1), Inner(number: 2)],
        map: ["b": Inner(number: 1), "a": Inner(number: 2), "é": Inner(number: 3), "B": Inner(number: 4)],
        numbers: [10: Inner(number: 1), 9: Inner(number: 2)],
        optional: Inner(number: 1)
      )
    )
  }
}
