import Foundation
@testable import SharedState
import SharedStateDependencies
import Testing

/// The part of a document that belongs to one service: no other one changes it.
private struct OwnPlaces: Equatable {
  var field: Int?
  var entry: Int?
  var element: Int?
  var isInSet = false
  /// Known to the second version only.
  var extra: Int?
}

private struct Service {
  let name: String
  let isSecond: Bool
  /// The document that was read last, with my changes since then.
  var raw: String
  var own = OwnPlaces()
  var added = 0
}

/// Services of two versions that commit one after the other, each based on a document that it read some commits ago.
@Suite("FieldsMerge: histories", .timeLimit(.minutes(5)))
struct MergeHistoryTests {
  private static func schema(isSecond: Bool, services: [String]) -> Schema {
    let extra = isSecond ? [Schema.Member(name: "extra", schema: .leaf)] : []
    let item = Schema.object(
      [.init(name: "id", schema: .leaf), .init(name: "n", schema: .leaf)] + extra,
      required: ["id"]
    )
    let fields = services.map {
      Schema.Member(name: $0, schema: .object([.init(name: "v", schema: .leaf)] + extra, required: []))
    }
    return .object(
      fields + [
        .init(name: "entries", schema: .map(.string, .object([.init(name: "v", schema: .leaf)], required: []))),
        .init(name: "list", schema: .list(id: ["id"], isUUID: false, item)),
        .init(name: "set", schema: .set(.leaf)),
        .init(name: "hits", schema: .tally),
      ],
      required: []
    )
  }

  @Test(
    "A history ends with each service's saved values in its own places and the sum in a merging counter",
    arguments: 2...4
  )
  func histories(_ count: Int) throws {
    for seed in 0..<UInt64(250) {
      var generator = SplitMix64(seed: seed)
      let names = (0..<count).map { "service \($0)" }
      let start: String =
        #"{"entries":{},"list":[{"id":"common","n":0,"else":1}],"set":["common"],"hits":0,"unknown":[1.50]}"#
      var stored = start
      var services = names.enumerated().map { Service(name: $1, isSecond: $0 % 2 == 1, raw: start) }
      for _ in 0..<12 {
        let index = Int.random(in: 0..<count, using: &generator)
        var service = services[index]
        // A service that has saved has read that save since: its own places are its last save.
        let schema = Self.schema(isSecond: service.isSecond, services: names)
        let rawValue = try JSONValue(service.raw)
        let base = try SchemaEncoder.base(schema, stored: rawValue)
        service.change(using: &generator)
        let increment: Int = .random(in: 0..<4, using: &generator)
        service.added += increment
        let mine = try service.document(base, increment: increment, using: &generator)
        let outcome = ThreeWayMerge.merge(
          raw: rawValue.document,
          base: base,
          mine: try SchemaEncoder.mine(schema, JSONValue(mine)),
          theirs: try JSONValue(stored).document
        )
        stored = String(decoding: outcome.document, as: UTF8.self)
        service.raw = stored
        services[index] = service
        // Some have seen it, others not yet.
        for other in services.indices where generator.isOne(of: 3) { services[other].raw = stored }
      }
      let end = try JSONValue(stored)
      for service in services {
        #expect(service.own == service.places(in: end), "\(service.name), seed \(seed): \(stored)")
      }
      let hits = try String(decoding: end.member("hits").text, as: UTF8.self)
      #expect(hits == "\(services.reduce(0) { $0 + $1.added })", "seed \(seed): \(stored)")
      #expect(try end.member("unknown").text == Array("[1.50]".utf8), "seed \(seed)")
      let common = try end.member("list").elements.filter { $0["id"]?.text == Array(#""common""#.utf8) }
      #expect(common.map { $0["else"]?.text } == [Array("1".utf8)], "seed \(seed): \(stored)")
    }
  }
}

extension Service {
  fileprivate mutating func change(using generator: inout SplitMix64) {
    func next(_ value: Int?) -> Int? {
      generator.isOne(of: 2) ? value : generator.isOne(of: 4) ? nil : Int.random(in: 0..<100, using: &generator)
    }
    own.field = next(own.field)
    own.entry = next(own.entry)
    own.element = next(own.element)
    if isSecond { own.extra = own.field == nil ? nil : next(own.extra) }
    if generator.isOne(of: 3) { own.isInSet.toggle() }
  }

  /// The document that the service writes: the one that it has read, with the present values of its own places.
  fileprivate func document(
    _ base: FormedDocument,
    increment: Int,
    using generator: inout SplitMix64
  ) throws -> String {
    guard case .object(var members) = Sample(JSONValue(base.document)) else { return "" }
    func put(_ name: String, _ value: Sample?, in members: inout [(name: String, value: Sample)]) {
      let index = members.firstIndex { $0.name == name }
      if let value {
        if let index { members[index].value = value } else { members.insert((name, value), at: 0) }
      } else if let index {
        members.remove(at: index)
      }
    }
    let extra = own.extra.map { [("extra", Sample.number($0))] } ?? []
    put(name, own.field.map { .object([("v", .number($0))] + extra) }, in: &members)
    members = members.map { name, value in
      switch value {
      case .object(let entries) where name == "entries":
        var entries = entries
        put(self.name, own.entry.map { .object([("v", .number($0))]) }, in: &entries)
        return (name, .object(entries.sorted { $0.name < $1.name }))
      case .array(let elements) where name == "list":
        var rest = elements.filter { !$0.text.contains("\"\(self.name)\"") }
        if generator.isOne(of: 3) { rest.shuffle(using: &generator) }
        if let element = own.element {
          let place = Int.random(in: 0...rest.count, using: &generator)
          rest.insert(.object([("id", .string(self.name)), ("n", .number(element))]), at: place)
        }
        return (name, .array(rest))
      case .array(let elements) where name == "set":
        let rest = elements.filter { $0.text != "\"\(self.name)\"" }
        return (name, .array(own.isInSet ? rest + [.string(self.name)] : rest))
      case .number(let hits) where name == "hits": return (name, .number(hits + increment))
      default: return (name, value)
      }
    }
    return Sample.object(members).text
  }

  fileprivate func places(in end: JSONValue) -> OwnPlaces {
    func number(_ value: JSONValue?) -> Int? { value.flatMap { Int(String(decoding: $0.text, as: UTF8.self)) } }
    let quoted = Array("\"\(name)\"".utf8)
    return OwnPlaces(
      field: number(end[name]?["v"]),
      entry: number(end["entries"]?[name]?["v"]),
      element: number(end["list"]?.elements.first { $0["id"]?.text == quoted }?["n"]),
      isInSet: end["set"]?.elements.contains { $0.text == quoted } ?? false,
      extra: number(end[name]?["extra"])
    )
  }
}
