import Foundation
import Testing

@testable import SharedState

/// Merges of real types. Each change is made to a decoded value.
@Suite("FieldsMerge: values of real types", .timeLimit(.minutes(5)))
struct TypedMergeTests {
  /// Changes a stored document as a service does, and applies the change to the document that is stored by then.
  private func merge<Value: Codable & Sendable>(
    _ raw: String,
    _ theirs: String,
    change: (inout Value) -> Void
  ) throws -> String {
    let coders = try Coders()
    func formed(_ value: Value) throws -> FormedDocument {
      try coders.encoder.encode(value, formsReadBy: coders.decoder).formed()
    }
    var mine = try coders.value(Value.self, raw)
    change(&mine)
    let outcome = ThreeWayMerge.merge(
      raw: try document(raw),
      // Read a second time, as in a replica, which keeps no values.
      base: try formed(coders.value(Value.self, raw)),
      mine: try formed(mine),
      theirs: try document(theirs)
    )
    return String(decoding: outcome.document, as: UTF8.self)
  }

  // MARK: Identities that are not in the document

  struct Unread: Codable, Identifiable, Sendable {
    let id: UUID
    var name: String

    init(from decoder: any Decoder) throws {
      id = UUID()
      name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
    }
  }

  struct Unwritten: Codable, Hashable, Identifiable, Sendable {
    var id = UUID()
    var name: String

    private enum CodingKeys: CodingKey { case name }
  }

  struct Late: Codable, Identifiable, Sendable {
    let id: UUID
    var name: String

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decodeIfPresent(UUID.self, forKey: .id) ?? UUID()
      name = try container.decode(String.self, forKey: .name)
    }
  }

  final class Object: Codable, Identifiable, Sendable {
    let name: String

    init(name: String) { self.name = name }
  }

  /// Equal to any other with the same number.
  struct Numbered: Codable, Hashable, Sendable {
    let number: Int
    var name: String

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.number == rhs.number }

    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  @Test("An element of a set that differs from the old one and is equal to it is changed field by field")
  func equalElementOfSet() throws {
    let raw = #"[{"name":"a","number":1},{"name":"b","number":2}]"#
    let theirs = #"[{"name":"a","new":1,"number":1},{"name":"b","number":2},{"name":"d","number":4}]"#
    let changed = try merge(raw, theirs) { (set: inout Set<Numbered>) in
      set.update(with: Numbered(number: 1, name: "c"))
    }
    #expect(changed == #"[{"name":"c","new":1,"number":1},{"name":"b","number":2},{"name":"d","number":4}]"#)
    let mixed = try merge(raw, theirs) { (set: inout Set<Numbered>) in
      set.update(with: Numbered(number: 1, name: "c"))
      set.insert(Numbered(number: 3, name: "e"))
      set.remove(Numbered(number: 2, name: ""))
    }
    #expect(
      mixed == #"[{"name":"c","new":1,"number":1},{"name":"d","number":4},{"number":3,"name":"e"}]"#
    )
    // A change wins against a removal, as in a list.
    let removed = try merge(raw, #"[{"name":"b","number":2}]"#) { (set: inout Set<Numbered>) in
      set.update(with: Numbered(number: 1, name: "c"))
    }
    #expect(removed == #"[{"name":"c","number":1},{"name":"b","number":2}]"#)
    #expect(try merge(raw, theirs) { (_: inout Set<Numbered>) in } == theirs)
  }

  @Test("A list whose identities are not in the document is replaced whole")
  func listWithoutIdentities() throws {
    let names = #"[{"name":"a"},{"name":"b"}]"#
    let others = #"[{"name":"a"},{"name":"x"}]"#
    func nameOnly(_ text: String) throws -> [String?] {
      let elements = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: String]]
      return try #require(elements).map { $0["name"] }
    }
    for theirs in [names, others] {
      #expect(try nameOnly(merge(names, theirs) { (list: inout [Late]) in list[0].name = "c" }) == ["c", "b"])
      #expect(try nameOnly(merge(names, theirs) { (list: inout [Unwritten]) in list[0].name = "c" }) == ["c", "b"])
      #expect(try merge(names, theirs) { (list: inout [Object]) in list.removeLast() } == #"[{"name":"a"}]"#)
    }
    let id = UUID()
    let unread = #"[{"id":"\#(id)","name":"a"}]"#
    #expect(try nameOnly(merge(unread, unread) { (list: inout [Unread]) in list[0].name = "c" }) == ["c"])
    // Nothing has changed, so nothing is written.
    #expect(try merge(names, others) { (_: inout [Unwritten]) in } == others)
    let late = #"[{"id":"\#(id)","name":"a"}]"#
    let changed = #"[{"id":"\#(id)","name":"a","new":1}]"#
    let merged = try merge(late, changed) { (list: inout [Late]) in list[0].name = "c" }
    #expect(merged == #"[{"id":"\#(id)","name":"c","new":1}]"#)
  }

  @Test("A set whose identities are not in the document is replaced whole")
  func setWithoutIdentities() throws {
    let raw = #"[{"name":"a"}]"#
    let merged = try merge(raw, #"[{"name":"x"}]"#) { (set: inout Set<Unwritten>) in set = [Unwritten(name: "c")] }
    #expect(merged == #"[{"name":"c"}]"#)
  }

  // MARK: Enums in one object

  enum Shape: Codable, Sendable {
    case circle(radius: Int)
    case square(side: Int)

    private enum CodingKeys: CodingKey { case type, radius, side }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      switch try container.decode(String.self, forKey: .type) {
      case "circle": self = .circle(radius: try container.decode(Int.self, forKey: .radius))
      default: self = .square(side: try container.decode(Int.self, forKey: .side))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      switch self {
      case .circle(let radius):
        try container.encode("circle", forKey: .type)
        try container.encode(radius, forKey: .radius)
      case .square(let side):
        try container.encode("square", forKey: .type)
        try container.encode(side, forKey: .side)
      }
    }
  }

  struct Drawing: Codable, Sendable {
    var shape: Shape
    var title: String
  }

  @Test("The cases of an enum that share one object are never mixed")
  func unmixedCases() throws {
    let raw = #"{"shape":{"type":"circle","radius":1},"title":"a"}"#
    let theirs = #"{"shape":{"type":"circle","radius":5},"title":"b"}"#
    let merged = try merge(raw, theirs) { (drawing: inout Drawing) in drawing.shape = .square(side: 2) }
    #expect(merged == #"{"shape":{"type":"square","side":2},"title":"b"}"#)
  }

  // MARK: Types with a merge of their own

  struct Range: ThreeWayMergeable, Sendable {
    var lower: Int
    var upper: Int
    /// Whether the type's own merge was called.
    var isMerged = false

    static func merged(base: Range?, mine: Range, theirs: Range) -> Range {
      Range(lower: min(mine.lower, theirs.lower), upper: max(mine.upper, theirs.upper), isMerged: true)
    }
  }

  struct Places: Codable, Sendable {
    enum Kind: Codable, Sendable { case some(range: Range), none }
    struct Named: Codable, Identifiable, Sendable {
      var id: Int
      var range: Range
    }

    var member: Range
    var entries: [String: Range]
    var list: [Named]
    var payload: Kind
  }

  private func range(_ lower: Int, _ upper: Int, _ isMerged: Bool = false) -> String {
    #"{"lower":\#(lower),"upper":\#(upper),"isMerged":\#(isMerged)}"#
  }

  @Test("A type that defines its own merge applies it at any depth")
  func nestedCustomMerge() throws {
    func places(_ range: String) -> String {
      #"{"member":\#(range),"entries":{"a":\#(range)},"list":[{"id":1,"range":\#(range)}],"#
        + #""payload":{"some":{"range":\#(range)}}}"#
    }
    let merged = try merge(places(range(3, 4)), places(range(3, 9))) { (places: inout Places) in
      places.member.lower = 1
      places.entries["a"]?.lower = 1
      places.list[0].range.lower = 1
      places.payload = .some(range: Range(lower: 1, upper: 4))
    }
    #expect(merged == places(range(1, 9, true)))
  }

  @Test("The merge of a type runs only where both sides have changed its value")
  func oneSidedChange() throws {
    let raw = #"{"lower":3,"upper":4,"isMerged":false,"unknown":1}"#
    let mine = try merge(raw, raw) { (range: inout Range) in range.lower = 1 }
    #expect(mine == #"{"lower":1,"upper":4,"isMerged":false,"unknown":1}"#)
    let theirs = #"{"lower":0,"upper":4,"isMerged":false,"unknown":2}"#
    #expect(try merge(raw, theirs) { (_: inout Range) in } == theirs)
    let both = try merge(raw, theirs) { (range: inout Range) in range.upper = 9 }
    #expect(both == #"{"lower":0,"upper":9,"isMerged":true,"unknown":2}"#)
  }

  @Test("Elements that they have already removed stay removed when I reorder my list")
  func removalsBeforeReorder() throws {
    struct Item: Codable, Identifiable, Sendable { var id: Int }
    let coders = try Coders()
    func formed(_ ids: Int...) throws -> FormedDocument {
      try coders.encoder.encode(ids.map(Item.init), formsReadBy: coders.decoder).formed()
    }
    // My value was committed at the same time as the removal, and does not show it yet.
    let outcome = try ThreeWayMerge.merge(
      raw: document("[]"),
      base: formed(2, 4, 3),
      mine: formed(3, 2, 4),
      theirs: document("[]")
    )
    #expect(outcome.document == Data("[]".utf8))
  }

  @Test("A counter adds my change to a stored value that contains an earlier change of mine")
  func earlierCounterChange() throws {
    // My value is still based on 0, and the stored one is 2, because an earlier change of mine was merged.
    let coders = try Coders()
    func formed(_ tally: MergingCounter) throws -> FormedDocument {
      try coders.encoder.encode(tally, formsReadBy: coders.decoder).formed()
    }
    let outcome = try ThreeWayMerge.merge(raw: document("2"), base: formed(0), mine: formed(2), theirs: document("2"))
    #expect(outcome.document == Data("4".utf8))
  }

  @Test("A stored value that the type cannot read is replaced")
  func unreadableStoredValue() throws {
    let merged = try merge(range(3, 4), "[]") { (range: inout Range) in range.lower = 1 }
    #expect(merged == range(1, 4))
  }
}
