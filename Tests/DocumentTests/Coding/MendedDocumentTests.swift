import Foundation
import Testing

@testable import SharedState

@Suite("Documents of which some members cannot be read", .timeLimit(.minutes(5)))
struct MendedDocumentTests {
  enum Plan: String, Codable { case free, pro }

  enum Rollout: Codable, Hashable { case off, share(Int) }

  struct Flag: Codable, Hashable, Sendable {
    var isOn = false
    var plan: Plan?
    var rollout = Rollout.off
  }

  struct Item: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var plan = Plan.free
  }

  struct Group: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var items: [Item] = []
  }

  struct Config: Codable, Hashable, Sendable {
    var limit = 10
    var plan = Plan.free
    var note: Plan? = .pro
    var flags: [String: Flag] = [:]
    var items: [Item] = []
    var groups: IdentifiedArrayOf<Group> = []
    var plans: Set<Plan> = []
    var order: [Int] = []
  }

  struct Row: CustomTestStringConvertible {
    var text: String
    var last: String?
    var config: Config
    var paths: [String]

    init(_ text: String, last: String? = nil, _ config: Config, _ paths: String...) {
      (self.text, self.last, self.config, self.paths) = (text, last, config, paths)
    }

    var testDescription: String { "\(text) after \(last ?? "nothing")" }
  }

  private static let rowsOfMembers: [Row] = [
    Row(#"{"limit":20,"plan":"pro","note":null}"#, last: "{}", Config(limit: 20, plan: .pro, note: nil)),
    Row(#"{"limit":20,"plan":"gold"}"#, last: #"{"plan":"pro"}"#, Config(limit: 20, plan: .pro, note: nil), "plan"),
    Row(#"{"limit":20,"plan":"gold"}"#, Config(limit: 20, note: nil), "plan"),
    Row(#"{"limit":20,"plan":"gold"}"#, last: "{}", Config(limit: 20, note: nil), "plan"),
    Row(
      #"{"limit":"x","plan":7}"#,
      last: #"{"limit":1,"plan":"pro"}"#,
      Config(limit: 1, plan: .pro, note: nil),
      "limit",
      "plan"
    ),
    Row(#"{"note":"gold"}"#, Config(note: .pro), "note"),
    Row(#"{"note":"gold"}"#, last: "{}", Config(note: nil), "note"),
  ]

  private static let rowsOfEntries: [Row] = [
    Row(
      #"{"flags":{"a":{"isOn":true,"plan":"gold","rollout":{"off":{}}},"b":{"isOn":0,"rollout":{"off":{}}}}}"#,
      last: #"{"flags":{"b":{"isOn":true,"rollout":{"share":{"_0":5}}}}}"#,
      Config(note: nil, flags: ["a": Flag(isOn: true), "b": Flag(isOn: true)]),
      #"flags["a"].plan"#,
      #"flags["b"].isOn"#
    ),
    Row(
      #"{"flags":{"a":{"isOn":true,"rollout":{"off":{}}},"b":{"isOn":0,"rollout":{"off":{}}}}}"#,
      Config(note: nil, flags: ["a": Flag(isOn: true)]),
      #"flags["b"].isOn"#
    ),
    Row(
      #"{"flags":{"a":{"rollout":{"off":{}}}}}"#,
      last: #"{"flags":{"a":{"isOn":true,"rollout":{"off":{}}}}}"#,
      Config(note: nil, flags: ["a": Flag(isOn: true)]),
      #"flags["a"].isOn"#
    ),
    Row(#"{"flags":{"a":{}}}"#, Config(note: nil), #"flags["a"].isOn"#),
    Row(
      #"{"flags":{"a":7}}"#,
      last: #"{"flags":{"a":{"isOn":true,"rollout":{"off":{}}}}}"#,
      Config(note: nil, flags: ["a": Flag(isOn: true)]),
      #"flags["a"]"#
    ),
    Row(
      #"{"flags":[]}"#,
      last: #"{"flags":{"a":{"isOn":true,"rollout":{"off":{}}}}}"#,
      Config(note: nil, flags: ["a": Flag(isOn: true)]),
      "flags"
    ),
  ]

  private static let rowsOfCases: [Row] = [
    Row(
      #"{"flags":{"a":{"isOn":true,"rollout":{"share":{"_0":"x"}}}}}"#,
      last: #"{"flags":{"a":{"isOn":false,"rollout":{"share":{"_0":5}}}}}"#,
      Config(note: nil, flags: ["a": Flag(isOn: true, rollout: .share(5))]),
      #"flags["a"].rollout.share._0"#
    ),
    Row(
      #"{"flags":{"a":{"isOn":true,"rollout":{"share":{"_0":"x"}}}}}"#,
      last: #"{"flags":{"a":{"isOn":false,"rollout":{"off":{}}}}}"#,
      Config(note: nil, flags: ["a": Flag(isOn: true)]),
      #"flags["a"].rollout.share._0"#
    ),
    Row(
      #"{"flags":{"a":{"isOn":true,"rollout":{"later":{}}}}}"#,
      last: #"{"flags":{"a":{"isOn":false,"rollout":{"share":{"_0":5}}}}}"#,
      Config(note: nil, flags: ["a": Flag(isOn: true, rollout: .share(5))]),
      #"flags["a"].rollout"#
    ),
  ]

  private static let rowsOfElements: [Row] = [
    // Those with identities are left out, unless none of them can be read.
    Row(
      #"{"items":[{"id":1,"plan":"gold"},{"id":2,"plan":"pro"},{"id":3}]}"#,
      last: #"{"items":[{"id":1,"plan":"pro"}]}"#,
      Config(note: nil, items: [Item(id: 2, plan: .pro)]),
      "items[0].plan",
      "items[2].plan"
    ),
    Row(
      #"{"items":[{"id":1,"plan":"gold"}]}"#,
      last: #"{"items":[{"id":7,"plan":"pro"}]}"#,
      Config(note: nil, items: [Item(id: 7, plan: .pro)]),
      "items[0].plan"
    ),
    Row(
      #"{"groups":[{"id":1,"items":[{"id":1,"plan":"gold"},{"id":2,"plan":"pro"}]},{"id":2,"items":[]}]}"#,
      Config(note: nil, groups: [Group(id: 2)]),
      "groups[0].items[0].plan"
    ),
    Row(#"{"plans":["gold","pro"]}"#, Config(note: nil, plans: [.pro]), "plans[0]"),
    Row(#"{"plans":["gold"]}"#, last: #"{"plans":["pro"]}"#, Config(note: nil), "plans[0]"),
    // Of others the list is replaced as a whole.
    Row(#"{"order":[1,"x",3]}"#, last: #"{"order":[9]}"#, Config(note: nil, order: [9]), "order[1]"),
    Row(#"{"order":[1,"x",3]}"#, Config(note: nil), "order[1]"),
  ]

  static let rows = rowsOfMembers + rowsOfEntries + rowsOfCases + rowsOfElements

  private func coder<Value: Codable & Sendable>(of value: Value) -> ValueCoder<Value> {
    ValueCoder(JSONEncoder(), JSONDecoder(), completedBy: value)
  }

  private func mended<Value: Codable & Sendable>(
    _ value: Value,
    _ text: String,
    last: String? = nil
  ) throws -> ValueCoder<Value>.Mended {
    try coder(of: value).decode(Data(text.utf8), mendedBy: last.map { Data($0.utf8) })
  }

  @Test("The rest is read, and each failure is named", arguments: rows)
  func rest(row: Row) throws {
    let mended = try mended(Config(), row.text, last: row.last)
    #expect(mended.completed.value == row.config)
    #expect(mended.failures.map(\.path) == row.paths)
  }

  @Test("Mended by the value that was read, the document has the same value and the same failures", arguments: rows)
  func again(row: Row) throws {
    let encoded = try coder(of: Config()).encode(row.config)
    let again = try coder(of: Config()).decode(Data(row.text.utf8), mendedBy: encoded)
    #expect(again.completed.value == row.config)
    #expect(again.failures.map(\.path) == row.paths)
  }

  @Test("A change by a service that left something out or replaced it keeps that as it is stored", arguments: rows)
  func kept(row: Row) throws {
    let coder = coder(of: Config())
    var mine = row.config
    mine.limit = 77
    mine.flags["new"] = Flag()
    mine.items.append(Item(id: 100))
    let outcome = try ThreeWayMerge.merge(
      raw: document(row.text),
      base: coder.formed(row.config),
      mine: #require(coder.formed(mine)),
      theirs: document(row.text)
    )
    // The last list is not shown any longer once an element of the stored one can be read.
    if mine.items.first?.id == 7 { mine.items.removeFirst() }
    let merged = try coder.decode(outcome.document, mendedBy: coder.encode(mine))
    #expect(merged.completed.value == mine)
    // The service has assigned these two itself; nothing can be added to flags that are no object.
    let assigned = ["limit"] + (row.text.contains(#""flags":[]"#) ? ["flags"] : [])
    // An added element may be before one that is left out.
    func withoutIndexes(_ path: String?) -> String { (path ?? "").replacing(/\[[0-9]+\]/, with: "[]") }
    let kept = row.paths.filter { !assigned.contains($0) }
    #expect(merged.failures.map { withoutIndexes($0.path) }.sorted() == kept.map(withoutIndexes).sorted())
  }

  @Test("A document that is of another kind as a whole is an error, which names the first failure")
  func whole() throws {
    #expect(throws: DecodingError.self) { try mended(Config(), "[]", last: "{}") }
    #expect(throws: DecodingError.self) { try mended(Config(), "{", last: "{}") }
    #expect(throws: DecodingError.self) { try mended([Int](), #"[1,"x"]"#, last: "[5]") }
    do {
      _ = try mended([Int](), #"[1,"x"]"#, last: "[5]")
    } catch let error as DecodingError {
      #expect(DecodingFailure(error).path == "[1]")
    }
  }

  @Test("Entries and elements of the document itself are mended")
  func roots() throws {
    #expect(try mended([String: Int](), #"{"a":1,"b":"x"}"#).completed.value == ["a": 1])
    #expect(try mended([String: Int](), #"{"a":1,"b":"x"}"#, last: #"{"b":5}"#).completed.value == ["a": 1, "b": 5])
    #expect(try mended([Int: Int](), #"{"1":1,"x":2}"#).completed.value == [1: 1])
    let items = try mended([Item](), #"[{"id":1,"plan":"gold"},{"id":2,"plan":"pro"}]"#)
    #expect(items.completed.value == [Item(id: 2, plan: .pro)])
  }

  private struct Note: Codable, Identifiable, Sendable {
    let id = UUID()
    var text: String

    private enum CodingKeys: CodingKey { case text }
  }

  @Test("A list whose identities are not in the document is replaced as a whole")
  func madeIdentities() throws {
    let notes = try mended(
      ["list": [Note]()],
      #"{"list":[{"text":1},{"text":"b"}]}"#,
      last: #"{"list":[{"text":"a"}]}"#
    )
    #expect(notes.completed.value["list"]?.map(\.text) == ["a"])
  }

  private struct Renamed: Codable, Hashable, Sendable {
    var isOn = false
    var byDay: [String: Int] = [:]
  }

  @Test("Members are found by the names in the document")
  func keyStrategy() throws {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let coder = ValueCoder(encoder, decoder, completedBy: Renamed())
    let mended = try coder.decode(
      Data(#"{"is_on":"x","by_day":{"a_b":true,"c_d":2}}"#.utf8),
      mendedBy: Data(#"{"is_on":true,"by_day":{"a_b":1}}"#.utf8)
    )
    #expect(mended.completed.value == Renamed(isOn: true, byDay: ["a_b": 1, "c_d": 2]))
  }

  @Test("A document with more failures than are mended is an error")
  func tooMany() throws {
    func text(_ count: Int) -> String {
      "{" + (0..<count).map { "\"\($0)\":\"x\"" }.joined(separator: ",") + "}"
    }
    let maximum = MendedDocument.maximumFailures
    #expect(try mended([String: Int](), text(maximum)).failures.count == maximum)
    #expect(throws: DecodingError.self) { try mended([String: Int](), text(maximum + 1)) }
  }

  @Test("A repeated entry that cannot be read does not hide another one")
  func repeated() throws {
    let mended = try mended([String: Int](), #"{ "a" : "x" , "a" : 2 , "b" : 3 }"#)
    #expect(mended.completed.value == ["a": 2, "b": 3])
  }
}
