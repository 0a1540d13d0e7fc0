@testable import SharedState
import Foundation
import Testing

/// One case of the file of cases.
struct MergeCase: Sendable, CustomTestStringConvertible {
  let name: String
  /// The schema of the type, if it is known.
  let schema: Schema?
  let base: [UInt8]?
  let mine: [UInt8]
  let theirs: [UInt8]
  let defaultValue: [UInt8]?
  let removal: RemovalPolicy
  let writesNull: Bool
  /// Whether the result has to match byte for byte.
  let isExact: Bool
  let expected: [UInt8]
  let why: String

  var testDescription: String { "\(name): \(why)" }

  /// The cases of the file that `SHARED_STATE_MERGE_CASES` names, or of the file beside this one.
  static let all: [MergeCase] = {
    let path =
      ProcessInfo.processInfo.environment["SHARED_STATE_MERGE_CASES"]
      ?? URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Cases/cases.json").path
    do {
      let file = JSONValue(try JSONDocument(parsing: Data(contentsOf: URL(filePath: path))))
      var schemas: [String: Schema] = [:]
      for member in try file.member("schemas").members where try member.value.member("kind").string != "any" {
        schemas[member.name] = try Schema(member.value)
      }
      return try file.member("cases").elements.map { try MergeCase($0, schemas) }
    } catch {
      fatalError("The cases in \(path) cannot be read: \(error)")
    }
  }()

  private init(_ value: JSONValue, _ schemas: [String: Schema]) throws {
    let isExact = value["bytes"]?.kind == .true
    func document(_ name: String) throws -> [UInt8]? {
      guard let value = value[name] else { return nil }
      return value.kind == .string && isExact ? value.stringBytes : value.text
    }
    func required(_ name: String) throws -> [UInt8] {
      guard let document = try document(name) else { throw JSONValue.Unexpected(what: "no \(name)") }
      return document
    }
    self.isExact = isExact
    name = try value.member("name").string
    why = try value.member("why").string
    schema = schemas[try value.member("schema").string]
    base = try document("base")
    mine = try required("mine")
    theirs = try required("theirs")
    defaultValue = try document("default")
    writesNull = value["nulls"]?.kind == .true
    expected = try required("expected")
    switch try value["policy"]?.string ?? "later" {
    case "later": removal = .laterWins
    case "change": removal = .changeWins
    case "removal": removal = .removalWins
    case let policy: throw JSONValue.Unexpected(what: "policy \(policy)")
    }
  }

  /// Merges as a replica does.
  func merged() throws -> ThreeWayMerge.Outcome {
    let raw = try base.map { try JSONDocument(parsing: Data($0)) }
    guard let schema else {
      let documents = try [base ?? Array("null".utf8), mine, theirs].map { try JSONDocument(parsing: Data($0)) }
      return ThreeWayMerge.merge(base: documents[0], mine: documents[1], theirs: documents[2])
    }
    let completion = try defaultValue.map { JSONValue(try JSONDocument(parsing: Data($0))) }
    let base =
      if let raw {
        try SchemaEncoder.base(schema, stored: JSONValue(raw), default: completion, writesNull: writesNull)
      } else {
        try completion.map { try SchemaEncoder.mine(schema, $0) }
      }
    return ThreeWayMerge.merge(
      raw: raw,
      base: base,
      mine: try SchemaEncoder.mine(schema, JSONValue(JSONDocument(parsing: Data(mine)))),
      theirs: try JSONDocument(parsing: Data(theirs)),
      removal: removal
    )
  }
}
