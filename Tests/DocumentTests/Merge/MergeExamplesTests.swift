@testable import SharedState
import Foundation
import Testing

/// Exact examples of what the cases leave open.
@Suite("FieldsMerge: examples", .timeLimit(.minutes(5)))
struct MergeExamplesTests {
  struct Example: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let schema: Schema?
    let raw: String
    let mine: String
    let theirs: String
    let merged: String
    var removal = RemovalPolicy.laterWins
  }

  private static let point = Schema.object([.init(name: "p", schema: .leaf)], required: [])
  private static let optional = Schema.object([.init(name: "o", schema: point)], required: [])
  private static let set = Schema.set(.leaf)
  private static let carts = Schema.list(
    id: ["id"],
    isUUID: false,
    .object(
      [
        .init(name: "id", schema: .leaf), .init(name: "tags", schema: .set(.leaf)),
        .init(name: "ages", schema: .map(.int, .leaf)), .init(name: "name", schema: .leaf),
      ],
      required: ["id"]
    )
  )

  @Test(
    "A merge gives exactly the expected bytes in every example",
    arguments: [
      Example(
        testDescription: "what is null there is brought back as it was stored",
        schema: optional,
        raw: #"{"o":{"p":1,"u":9}}"#,
        mine: #"{"o":{"p":2}}"#,
        theirs: #"{ "o" : null }"#,
        merged: #"{ "o" : {"p":2,"u":9} }"#
      ),
      Example(
        testDescription: "what is null there is removed",
        schema: optional,
        raw: #"{"o":{"p":1}}"#,
        mine: #"{"o":{"p":2}}"#,
        theirs: #"{"o":null}"#,
        merged: #"{"o":null}"#,
        removal: .removalWins
      ),
      Example(
        testDescription: "another order of a set, another spelling of a key and a null are no change",
        schema: carts,
        raw: #"[{"id":"a","tags":["x","y"],"ages":{"7":1}}]"#,
        mine: "[]",
        theirs: #"[{"ages":{"07":1.0},"id":"a","tags":["y","x"],"name":null}]"#,
        merged: "[]",
        removal: .changeWins
      ),
      Example(
        testDescription: "one element more in a set is a change",
        schema: carts,
        raw: #"[{"id":"a","tags":["x","y"],"name":null}]"#,
        mine: "[]",
        theirs: #"[{"id":"a","tags":["y","x","z"],"name":null}]"#,
        merged: #"[{"id":"a","tags":["y","x","z"],"name":null}]"#,
        removal: .changeWins
      ),
      Example(
        testDescription: "what was null and is not is a change",
        schema: carts,
        raw: #"[{"id":"a","name":null}]"#,
        mine: "[]",
        theirs: #"[{"id":"a","name":"n"}]"#,
        merged: #"[{"id":"a","name":"n"}]"#,
        removal: .changeWins
      ),
      Example(
        testDescription: "added to a sorted set at its place",
        schema: set,
        raw: #"["a","d"]"#,
        mine: #"["a","b","d"]"#,
        theirs: #"[ "a", "c", "d" ]"#,
        merged: #"[ "a","b", "c", "d" ]"#
      ),
      Example(
        testDescription: "numbers of a set are sorted by their values",
        schema: set,
        raw: "[2,30]",
        mine: "[2,9,30]",
        theirs: "[2,30,100]",
        merged: "[2,9,30,100]"
      ),
      Example(
        testDescription: "added to a set in no order behind the rest",
        schema: set,
        raw: #"["d","a"]"#,
        mine: #"["a","b","d"]"#,
        theirs: #"["d","a"]"#,
        merged: #"["d","a","b"]"#
      ),
      Example(
        testDescription: "without types null is a value",
        schema: nil,
        raw: #"{"a":1,"b":1}"#,
        mine: #"{"a":null,"b":1}"#,
        theirs: #"{"a":1,"b":2}"#,
        merged: #"{"a":null,"b":2}"#
      ),
      Example(
        testDescription: "without types an object with one other key on each side is an enum",
        schema: nil,
        raw: #"{"e":{"a":{"_0":1}}}"#,
        mine: #"{"e":{"a":{"_0":2}}}"#,
        theirs: #"{"e":{"c":{}}}"#,
        merged: #"{"e":{"a":{"_0":2}}}"#
      ),
      Example(
        testDescription: "without types what was no object is a leaf",
        schema: nil,
        raw: #"{"o":7,"x":0}"#,
        mine: #"{"o":{"a":1,"b":1},"x":0}"#,
        theirs: #"{"o":{"c":3,"d":3},"x":0}"#,
        merged: #"{"o":{"a":1,"b":1},"x":0}"#
      ),
      Example(
        testDescription: "a byte order mark and the space around stay",
        schema: optional,
        raw: #"{"o":{"p":1}}"#,
        mine: #"{"o":{"p":2}}"#,
        theirs: "\u{FEFF} " + #"{"o":{"p":1}}"# + "\n",
        merged: "\u{FEFF} " + #"{"o":{"p":2}}"# + "\n"
      ),
    ]
  )
  func examples(_ example: Example) throws {
    let raw = try JSONValue(example.raw)
    let mine = try JSONValue(example.mine)
    let outcome = ThreeWayMerge.merge(
      raw: raw.document,
      base: try example.schema.map { try SchemaEncoder.base($0, stored: raw) }
        ?? FormedDocument(document: raw.document, forms: nil),
      mine: try example.schema.map { try SchemaEncoder.mine($0, mine) }
        ?? FormedDocument(document: mine.document, forms: nil),
      theirs: try JSONValue(example.theirs).document,
      removal: example.removal
    )
    #expect(Array(outcome.document) == Array(example.merged.utf8))
    #expect(outcome.isChanged == (example.merged != example.theirs))
  }
}
