@testable import SharedState
import Foundation
import SharedStateTesting
import Testing

/// Documents that only an attacker writes.
@Suite("FieldsMerge: hostile documents", .timeLimit(.minutes(5)))
struct HostileDocumentTests {
  private static let element = Schema.object(["id", "n"].map { .init(name: $0, schema: .leaf) }, required: ["id"])

  private func merged(_ schema: Schema, _ raw: String, _ mine: String, _ theirs: String) throws -> String {
    let stored = try JSONValue(raw)
    let outcome = ThreeWayMerge.merge(
      raw: stored.document,
      base: try SchemaEncoder.base(schema, stored: stored),
      mine: try SchemaEncoder.mine(schema, JSONValue(mine)),
      theirs: try JSONValue(theirs).document
    )
    return String(decoding: outcome.document, as: UTF8.self)
  }

  @Test("The first of several repeated members counts, and a removal removes all of them")
  func repeatedMembers() throws {
    let schema = Schema.object(["a", "b"].map { .init(name: $0, schema: .leaf) }, required: [])
    let raw = #"{"a":1,"b":1,"a":2}"#
    #expect(try merged(schema, raw, #"{"a":5,"b":1}"#, #"{"a":1,"b":1,"\u0061":2}"#) == #"{"a":5,"b":1,"\u0061":2}"#)
    #expect(try merged(schema, raw, #"{"b":1}"#, #"{ "a":1, "b":1, "\u0061":2 }"#) == #"{ "b":1 }"#)
    #expect(try merged(schema, raw, "{}", #"{"u":0,"a":1,"b":1,"a":2}"#) == #"{"u":0}"#)
  }

  @Test("The first of several repeated members counts in a merge without types")
  func repeatedUntypedMembers() throws {
    let documents = try [#"{"a":1,"b":1,"a":2}"#, #"{"b":1,"a":2}"#, #"{"b":1,"a":3}"#]
      .map { try JSONDocument(parsing: Data($0.utf8)) }
    let outcome = ThreeWayMerge.merge(base: documents[0], mine: documents[1], theirs: documents[2])
    #expect(outcome == .init(document: documents[1].data, isChanged: true, overridden: 1))
  }

  @Test("A document of 256 MB is merged without loss")
  func hugeDocument() throws {
    let schema = Schema.object(["a", "b"].map { .init(name: $0, schema: .leaf) }, required: [])
    let text = String(repeating: "x", count: 1 << 28)
    let raw = "{\"a\":1,\"b\":\"\(text)\"}"
    let base = try JSONValue(#"{"a":1}"#)
    let outcome = ThreeWayMerge.merge(
      raw: try JSONDocument(parsing: Data(raw.utf8)),
      base: try SchemaEncoder.mine(schema, base),
      mine: try SchemaEncoder.mine(schema, JSONValue(#"{"a":2}"#)),
      theirs: try JSONDocument(parsing: Data(raw.utf8))
    )
    #expect(outcome.document.count == raw.utf8.count)
    #expect(outcome.document.prefix(9) == Data(#"{"a":2,"b"#.utf8))
    #expect(outcome.document.dropFirst(9) == Data(raw.utf8.dropFirst(9)))
  }

  @Test("A lone surrogate equals only itself")
  func loneSurrogates() throws {
    let map = Schema.map(.string, .leaf)
    let theirs = #"{"\ud800":1,"\udc00":2,"\uD800x":3}"#
    #expect(
      try merged(map, theirs, #"{"\ud800":1,"\udc00":5,"\uD800x":3}"#, theirs)
        == #"{"\ud800":1,"\udc00":5,"\uD800x":3}"#
    )
    #expect(try merged(map, theirs, #"{"\udc00":2,"\uD800x":3}"#, theirs) == #"{"\udc00":2,"\uD800x":3}"#)
    let list = Schema.list(id: ["id"], isUUID: false, Self.element)
    let elements = #"[{"id":"\ud800","n":1},{"id":"\ud801","n":1}]"#
    #expect(
      try merged(list, elements, #"[{"id":"\ud801","n":1},{"id":"\ud800","n":2}]"#, elements)
        == #"[{"id":"\ud801","n":1},{"id":"\ud800","n":2}]"#
    )
    let set = Schema.set(.leaf)
    #expect(try merged(set, #"["\ud800"]"#, #"["\ud801"]"#, #"["\ud800","\udc00"]"#) == #"["\ud801","\udc00"]"#)
  }

  @Test("Keys that are crafted to collide have different hashes")
  func collidingKeys() throws {
    let keys = Self.collidingKeys(count: 1 << 10)
    let members = keys.map { "\"\($0)\":1" }
    let theirs = "{\(members.joined(separator: ","))}"
    let mine = "{\(members.dropFirst().joined(separator: ",")),\"new\":2}"
    let documents = try [theirs, mine].map { try JSONDocument(parsing: Data($0.utf8)) }
    let outcome = ThreeWayMerge.merge(base: documents[0], mine: documents[1], theirs: documents[0])
    #expect(String(decoding: outcome.document, as: UTF8.self) == mine)
    let hashes = Set(documents[0].members(of: 0).map { documents[0].nodes[$0.key].hash })
    #expect(hashes.count > keys.count - 10)
  }

  /// Keys with the same FNV-1a hash: at each place, both parts lead to the same state.
  private static func collidingKeys(count: Int) -> [String] {
    var (keys, start) = ([""], UInt32(2_166_136_261))
    func part(_ number: UInt64) -> String {
      String((0..<6 as Range<UInt64>).map { Character(Unicode.Scalar(UInt8(97 + number >> ($0 * 4) & 15))) })
    }
    while keys.count < count {
      var seen: [UInt32: UInt64] = [:]
      var number: UInt64 = 0
      while true {
        var hash = start
        for shift in 0..<6 as Range<UInt64> { hash = (hash ^ UInt32(97 + number >> (shift * 4) & 15)) &* 16_777_619 }
        if let other = seen.updateValue(number, forKey: hash) {
          keys = keys.flatMap { [$0 + part(number), $0 + part(other)] }
          start = hash
          break
        }
        number += 1
      }
    }
    return keys
  }

  @Test("The deepest documents of every form are merged on a small stack", arguments: 0..<6)
  func deepDocuments(_ kind: Int) async throws {
    let depth = JSONDocument.maximumDepth - 2
    func nested(_ open: String, _ leaf: String, _ close: String, levels: Int = depth) -> String {
      String(repeating: open, count: levels) + leaf + String(repeating: close, count: levels)
    }
    func documents(_ open: String, _ close: String, levels: Int = depth) -> [String] {
      [#"{"a":1,"b":[1]}"#, #"{"a":2,"b":[1]}"#, #"{"a":1,"b":[1.0,2]}"#].map {
        nested(open, $0, close, levels: levels)
      }
    }
    let changed = #"{"a":2,"b":[1.0,2]}"#
    let (texts, form, expected): ([String], (@Sendable (Int) -> Form?)?, String) =
      switch kind {
      case 0: (documents(#"{"o":"#, "}"), nil, nested(#"{"o":"#, changed, "}"))
      case 1: (documents(#"{"o":"#, "}"), { _ in nil }, nested(#"{"o":"#, changed, "}"))
      case 2: (documents(#"{"o":"#, "}"), { _ in .enumeration }, nested(#"{"o":"#, changed, "}"))
      case 3: (documents(#"{"o":"#, "}"), { _ in .map(MapForm { Self.read($0, $1) }) }, nested(#"{"o":"#, changed, "}"))
      case 4:
        // One identity for all elements: each is nested in the one above.
        (
          documents("[", "]"),
          { _ in .list(ElementForm(identities: [Identity(0)]) { _, _ in Reading(identity: Identity(0)) }) },
          nested("[", changed, "]")
        )
      default:
        (
          documents(#"{"o":1,"p":{"k":"#, "}}", levels: depth / 2), { _ in nil },
          nested(#"{"o":1,"p":{"k":"#, changed, "}}", levels: depth / 2)
        )
      }
    let merged = try await onThread(stackSize: 65_536) {
      let documents = try texts.map { try JSONDocument(parsing: Data($0.utf8)) }
      func formed(_ document: JSONDocument) -> FormedDocument {
        var forms: [Int: Form] = [:]
        for (node, value) in document.nodes.enumerated() {
          let isContainer = value.kind == .object || value.kind == .array
          let isLast = document.nodes.count - node < 7
          if isContainer, !isLast { forms[node] = form?(node) }
        }
        return FormedDocument(document: document, forms: form == nil ? nil : forms)
      }
      let outcome = ThreeWayMerge.merge(
        raw: documents[0],
        base: formed(documents[0]),
        mine: formed(documents[1]),
        theirs: documents[2]
      )
      return String(decoding: outcome.document, as: UTF8.self)
    }
    #expect(merged == expected)
  }

  @Test("Deep documents are compared and restored on a small stack")
  func deepRestoration() async throws {
    let depth = JSONDocument.maximumDepth - 1
    @Sendable func nested(_ leaf: String) -> String {
      "{\"o\":" + String(repeating: "[", count: depth) + leaf + String(repeating: "]", count: depth) + "}"
    }
    for removal in RemovalPolicy.allCases {
      let merged = try await onThread(stackSize: 65_536) {
        let raw = try JSONDocument(parsing: Data(nested("1").utf8))
        let mine = try JSONDocument(parsing: Data(nested("2").utf8))
        let empty = try JSONDocument(parsing: Data("{}".utf8))
        let spelled = try JSONDocument(parsing: Data(nested("1.0").utf8))
        let base = FormedDocument(document: raw, forms: [:])
        let restored = ThreeWayMerge.merge(
          raw: raw,
          base: base,
          mine: FormedDocument(document: mine, forms: [:]),
          theirs: empty,
          removal: removal
        )
        let removed = ThreeWayMerge.merge(
          raw: raw,
          base: base,
          mine: FormedDocument(document: empty, forms: [:]),
          theirs: spelled,
          removal: removal
        )
        return [restored, removed].map { String(decoding: $0.document, as: UTF8.self) }
      }
      #expect(merged == [removal == .removalWins ? "{}" : nested("2"), "{}"])
    }
  }

  @Test("A list of 100,000 elements is merged if both sides reorder it, or if all elements share an identity")
  func longLists() throws {
    let count = 100_000
    func list(_ numbers: some Sequence<Int>) -> String {
      "[\(numbers.map { "{\"id\":\($0),\"n\":1}" }.joined(separator: ","))]"
    }
    let (forward, backward) = (list(0..<count), list((0..<count).reversed()))
    func formed(_ text: String, _ identities: some Sequence<Int>) throws -> FormedDocument {
      let form = ElementForm(identities: identities.map { Identity($0) }) { document, node in
        Int(String(decoding: document.text(of: node + 2), as: UTF8.self)).map { Reading(identity: Identity($0)) }
      }
      return FormedDocument(document: try JSONDocument(parsing: Data(text.utf8)), forms: [0: .list(form)])
    }
    let base = try formed(forward, 0..<count)
    let mine = try formed(backward, (0..<count).reversed())
    let theirs = list((0..<count).map { ($0 + count / 2) % count })
    let outcome = ThreeWayMerge.merge(
      raw: base.document,
      base: base,
      mine: mine,
      theirs: try JSONDocument(parsing: Data(theirs.utf8))
    )
    #expect(try JSONDocument(parsing: outcome.document).nodes.count == base.document.nodes.count)

    let zeros = Array(repeating: 0, count: count)
    let changed = list(zeros).replacingOccurrences(of: #"{"id":0,"n":1}]"#, with: #"{"id":0,"n":2}]"#)
    let one = ThreeWayMerge.merge(
      raw: try JSONDocument(parsing: Data(list(zeros).utf8)),
      base: try formed(list(zeros), zeros),
      mine: try formed(changed, zeros),
      theirs: try JSONDocument(parsing: Data(list(zeros).replacing("1}]", with: "1 }]").utf8))
    )
    #expect(String(decoding: one.document, as: UTF8.self) == changed.replacing("2}]", with: "2 }]"))
  }

  @Test("Only the differing elements of a long list are read again")
  func readings() throws {
    let count = 1_000
    func text(_ numbers: [Int], changed: Int? = nil) -> String {
      "[\(numbers.map { "{\"id\":\($0),\"n\":\($0 == changed ? 2 : 1)}" }.joined(separator: ","))]"
    }
    let counter = Counter()
    func formed(_ text: String, _ identities: [Int]) throws -> FormedDocument {
      let form = ElementForm(identities: identities.map { Identity($0) }) { document, node in
        counter.increment()
        return Int(String(decoding: document.text(of: node + 2), as: UTF8.self)).map { Reading(identity: Identity($0)) }
      }
      return FormedDocument(document: try JSONDocument(parsing: Data(text.utf8)), forms: [0: .list(form)])
    }
    let numbers = Array(0..<count)
    var moved = numbers
    moved.insert(moved.remove(at: 900), at: 100)
    let base = try formed(text(numbers), numbers)
    let outcome = ThreeWayMerge.merge(
      raw: base.document,
      base: base,
      mine: try formed(text(numbers, changed: 500), numbers),
      theirs: try JSONDocument(parsing: Data(text(moved, changed: 300).utf8))
    )
    let expected = text(moved, changed: 300).replacing(#""id":500,"n":1"#, with: #""id":500,"n":2"#)
    #expect(String(decoding: outcome.document, as: UTF8.self) == expected)
    // One element of mine, and those that differ twice each, because an identity might change at each reading.
    #expect(counter.value <= 1 + 2 * 5)
  }

  private final class Counter: @unchecked Sendable {
    // `@unchecked Sendable` is right because one thread at a time uses it: the merge's.
    private(set) var value = 0
    func increment() { value += 1 }
  }

  private static func read(_ document: JSONDocument, _ key: Int) -> Reading {
    Reading(identity: Identity(Array(document.text(of: key))), text: Array(document.text(of: key)))
  }
}
