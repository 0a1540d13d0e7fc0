@testable import SharedState

/// A type as the merge sees it, in the terms of the file of cases.
indirect enum Schema: Sendable {
  enum Key: String { case string, int, uuid }

  case leaf
  case tally
  case object([Member], required: Set<String>)
  case map(Key, Schema)
  case set(Schema)
  case list(id: [String], isUUID: Bool, Schema)
  case enumeration(cases: [String], payloads: [String: Schema])

  struct Member: Sendable {
    var name: String
    var schema: Schema
  }

  /// Reads a schema.
  init(_ value: JSONValue) throws {
    func schema(at name: String) throws -> Schema { try Schema(value.member(name)) }
    switch try value.member("kind").string {
    case "leaf": self = .leaf
    case "tally": self = .tally
    case "object":
      let members = try value.member("members").members.map { Member(name: $0.name, schema: try Schema($0.value)) }
      let required = try value["required"]?.elements.map { try $0.string }
      self = .object(members, required: Set(required ?? members.map(\.name)))
    case "map":
      self = .map(try value["key"].flatMap { Key(rawValue: try $0.string) } ?? .string, try schema(at: "values"))
    case "set": self = .set(try schema(at: "elements"))
    case "list":
      self = .list(
        id: try value.member("id").elements.map { try $0.string },
        isUUID: try value["idType"]?.string == "uuid",
        try schema(at: "elements")
      )
    case "enum":
      let payloads = try (value["payload"]?.members ?? []).map { ($0.name, try Schema($0.value)) }
      self = .enumeration(
        cases: try value.member("cases").elements.map { try $0.string },
        payloads: Dictionary(uniqueKeysWithValues: payloads)
      )
    case let kind: throw JSONValue.Unexpected(what: "schema of kind \(kind)")
    }
  }

  /// The kind of JSON that a value must have; `nil` if there are several.
  var kind: JSONNode.Kind? {
    switch self {
    case .leaf, .enumeration: nil
    case .tally: .number
    case .object, .map: .object
    case .set, .list: .array
    }
  }

  func fits(_ value: JSONValue) -> Bool { kind == nil || kind == value.kind }

  /// Whether the type can read a value.
  func decodes(_ value: JSONValue) -> Bool {
    guard fits(value) else { return false }
    switch self {
    case .leaf, .tally: return true
    case .object(let members, let required):
      let isComplete = required.allSatisfy { name in
        !members.contains { $0.name == name } || value[name].map { !$0.isNull } ?? false
      }
      return isComplete
        && members.allSatisfy { member in
          value[member.name].map { $0.isNull || member.schema.decodes($0) } ?? true
        }
    case .map(_, let values): return value.countedMembers.allSatisfy { values.decodes($0.value) }
    case .set(let elements), .list(_, _, let elements): return value.elements.allSatisfy(elements.decodes)
    case .enumeration(let cases, _):
      if let name = value.onlyMember?.name { return cases.contains(name) }
      return (try? value.string).map(cases.contains) ?? false
    }
  }
}
