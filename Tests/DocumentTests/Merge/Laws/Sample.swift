import Foundation
@testable import SharedState
import SharedStateDependencies

/// A JSON value for tests, made and changed at random within a schema. Every value has one text, so that types write
/// canonical texts.
indirect enum Sample {
  case null
  case number(Int)
  case string(String)
  case array([Sample])
  case object([(name: String, value: Sample)])

  init(_ value: JSONValue) {
    switch value.kind {
    case .null, .true, .false: self = .null
    case .number: self = .number(Int(String(decoding: value.text, as: UTF8.self)) ?? 0)
    case .string: self = .string(String(decoding: value.stringBytes, as: UTF8.self))
    case .array: self = .array(value.elements.map(Sample.init))
    case .object: self = .object(value.members.map { ($0.name, Sample($0.value)) })
    }
  }

  // MARK: Random values

  private static let strings = ["a", "b", "c", "d", "é", "🙂", "k\n", "\"", ""]

  static func random(_ schema: Schema, using generator: inout SplitMix64) -> Sample {
    func some(_ count: ClosedRange<Int>, _ make: (inout SplitMix64) -> Sample) -> [Sample] {
      (0..<Int.random(in: count, using: &generator)).map { _ in make(&generator) }
    }
    switch schema {
    case .tally: return .number(.random(in: 0..<20, using: &generator))
    case .leaf: return leaf(using: &generator)
    case .object(let members, let required):
      return .object(
        members.compactMap { member in
          guard required.contains(member.name) || generator.isOne(of: 2) else { return nil }
          return (member.name, random(member.schema, using: &generator))
        }
      )
    case .map(let key, let values):
      let entries = some(0...4) { random(values, using: &$0) }.map { (key.random(using: &generator), $0) }
      return .object(Dictionary(entries) { first, _ in first }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    case .set(let elements): return .array(some(0...4) { random(elements, using: &$0) })
    case .list(let names, let isUUID, let elements):
      return .array(some(0...5) { element(names, isUUID: isUUID, elements, using: &$0) })
    case .enumeration(let cases, let payloads):
      let name = cases.randomElement(using: &generator) ?? ""
      return payloads[name].map { .object([(name, random($0, using: &generator))]) } ?? .object([(name, .object([]))])
    }
  }

  /// The value after a change by its owner, or by another version of it.
  func changed(_ schema: Schema, isForeign: Bool = false, using generator: inout SplitMix64) -> Sample {
    if generator.isOne(of: 3) { return self }
    switch (schema, self) {
    case (.tally, .number(let number)): return .number(number + .random(in: -3...3, using: &generator))
    case (.object(let members, let required), .object(let values)):
      var result: [(name: String, value: Sample)] = []
      for (name, value) in values {
        if let member = members.first(where: { $0.name == name }) {
          if !required.contains(name), generator.isOne(of: 6) { continue }
          result.append((name, value.changed(member.schema, isForeign: isForeign, using: &generator)))
        } else if !isForeign || !generator.isOne(of: 4) {
          result.append((name, value))
        }
      }
      for member in members where !result.contains(where: { $0.name == member.name }) && generator.isOne(of: 3) {
        let index = Int.random(in: 0...result.count, using: &generator)
        result.insert((member.name, .random(member.schema, using: &generator)), at: index)
      }
      return .object(result)
    case (.map(let key, let values), .object(let entries)):
      var result = entries.filter { _ in !generator.isOne(of: 5) }
        .map { ($0.name, $0.value.changed(values, isForeign: isForeign, using: &generator)) }
      let name = key.random(using: &generator)
      if generator.isOne(of: 2), !result.contains(where: { $0.0 == name }) {
        result.append((name, .random(values, using: &generator)))
      }
      return .object(result)
    case (.set(let elements), .array(let values)):
      var result = values.filter { _ in !generator.isOne(of: 4) }
      if generator.isOne(of: 2) { result.append(.random(elements, using: &generator)) }
      return .array(result)
    case (.list(let names, let isUUID, let elements), .array(let values)):
      var result = values.filter { _ in !generator.isOne(of: 6) }
        .map { generator.isOne(of: 3) ? $0.changedElement(names, elements, isForeign, using: &generator) : $0 }
      while generator.isOne(of: 2) {
        let index = Int.random(in: 0...result.count, using: &generator)
        result.insert(Self.element(names, isUUID: isUUID, elements, using: &generator), at: index)
      }
      while generator.isOne(of: 2), !result.isEmpty {
        let element = result.remove(at: .random(in: 0..<result.count, using: &generator))
        result.insert(element, at: .random(in: 0...result.count, using: &generator))
      }
      return .array(result)
    case (.enumeration(_, let payloads), .object(let members)):
      guard let member = members.first, let payload = payloads[member.name], !generator.isOne(of: 3) else {
        return .random(schema, using: &generator)
      }
      return .object([(member.name, member.value.changed(payload, isForeign: isForeign, using: &generator))])
    default: return .random(schema, using: &generator)
    }
  }

  private func changedElement(
    _ names: [String],
    _ schema: Schema,
    _ isForeign: Bool,
    using generator: inout SplitMix64
  ) -> Sample {
    guard case .object(let before) = self,
      case .object(let after) = changed(schema, isForeign: isForeign, using: &generator)
    else { return self }
    return .object(before.filter { names.contains($0.name) } + after.filter { !names.contains($0.name) })
  }

  /// The value with members that its type does not know, at every level.
  func withUnknownMembers(_ schema: Schema, using generator: inout SplitMix64) -> Sample {
    switch (schema, self) {
    case (.object(let members, _), .object(let values)):
      var result = values.map { name, value in
        let member = members.first { $0.name == name }
        return (name, member.map { value.withUnknownMembers($0.schema, using: &generator) } ?? value)
      }
      if generator.isOne(of: 2) {
        let name = "unknown \(Int.random(in: 0..<2, using: &generator))"
        let unknown = Sample.object([("x", Self.leaf(using: &generator))])
        if !result.contains(where: { $0.0 == name }) {
          result.insert((name, unknown), at: .random(in: 0...result.count, using: &generator))
        }
      }
      return .object(result)
    case (.map(_, let values), .object(let entries)):
      return .object(entries.map { ($0.name, $0.value.withUnknownMembers(values, using: &generator)) })
    case (.set(let elements), .array(let values)), (.list(_, _, let elements), .array(let values)):
      return .array(values.map { $0.withUnknownMembers(elements, using: &generator) })
    case (.enumeration(_, let payloads), .object(let members)):
      return .object(
        members.map { name, value in
          (name, payloads[name].map { value.withUnknownMembers($0, using: &generator) } ?? value)
        }
      )
    default: return self
    }
  }

  private static func leaf(using generator: inout SplitMix64) -> Sample {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0..<5: .number([0, 1, 2, 10, 100, -3].randomElement(using: &generator) ?? 0)
    case 5..<9: .string(strings.randomElement(using: &generator) ?? "")
    default: .array([.number(.random(in: 0..<3, using: &generator))])
    }
  }

  private static func element(
    _ names: [String],
    isUUID: Bool,
    _ schema: Schema,
    using generator: inout SplitMix64
  ) -> Sample {
    guard case .object(let members) = random(schema, using: &generator) else { return .null }
    let identity = names.map { name in
      (name, Sample.string(isUUID ? Schema.Key.uuid.random(using: &generator) : generator.letter()))
    }
    return .object(identity + members.filter { !names.contains($0.name) })
  }

  // MARK: Text

  /// The value as our encoder writes it.
  var text: String {
    switch self {
    case .null: "null"
    case .number(let number): "\(number)"
    case .string(let string): String(decoding: SchemaEncoder.quoted(Array(string.utf8)), as: UTF8.self)
    case .array(let elements): "[\(elements.map(\.text).joined(separator: ","))]"
    case .object(let members):
      "{\(members.map { "\(Sample.string($0.name).text):\($0.value.text)" }.joined(separator: ","))}"
    }
  }

  /// The value in one of its many spellings.
  func text(using generator: inout SplitMix64) -> String {
    func space() -> String { ["", "", "", " ", "\n\t"].randomElement(using: &generator) ?? "" }
    func list(_ items: [String]) -> String { items.map { space() + $0 + space() }.joined(separator: ",") + space() }
    switch self {
    case .null: return "null"
    case .number(let number):
      return ["\(number)", "\(number).0", "\(number)e0", "\(number).00E+0"].randomElement(using: &generator) ?? ""
    case .string(let string):
      guard generator.isOne(of: 3) else { return text }
      let units = string.utf16.map { unit in
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
      return "\"\(units.joined())\""
    case .array(let elements): return "[\(list(elements.map { $0.text(using: &generator) }))]"
    case .object(let members):
      let items = members.map { name, value in
        Sample.string(name).text(using: &generator) + space() + ":" + space() + value.text(using: &generator)
      }
      return "{\(list(items))}"
    }
  }
}

extension Schema {
  /// A schema of some depth.
  static func random(depth: Int = 3, mergeable: Bool = true, using generator: inout SplitMix64) -> Schema {
    func object(_ names: [String] = []) -> Schema {
      let members = ["p", "q", "r", "s"].filter { _ in generator.isOne(of: 2) }.map {
        Member(name: $0, schema: random(depth: depth - 1, mergeable: mergeable, using: &generator))
      }
      let required = members.map(\.name).filter { _ in generator.isOne(of: 3) }
      return .object(names.map { Member(name: $0, schema: .leaf) } + members, required: Set(names + required))
    }
    switch Int.random(in: 0..<(depth > 0 ? 12 : 3), using: &generator) {
    case 0, 1: return .leaf
    case 2: return mergeable ? .tally : .leaf
    case 3, 4: return object()
    case 5, 6:
      let key = [Key.string, .int, .uuid].randomElement(using: &generator) ?? .string
      return .map(key, random(depth: depth - 1, mergeable: mergeable, using: &generator))
    case 7: return .set(.leaf)
    case 8: return .set(.object(["x", "y"].map { Member(name: $0, schema: .leaf) }, required: ["x"]))
    case 9: return .enumeration(cases: ["off", "fixed"], payloads: ["fixed": object()])
    default:
      let names = generator.isOne(of: 4) ? ["host", "port"] : ["id"]
      return .list(id: names, isUUID: generator.isOne(of: 4), object(names))
    }
  }
}

extension Schema.Key {
  func random(using generator: inout SplitMix64) -> String {
    switch self {
    case .string: generator.letter()
    case .int: "\(Int.random(in: 0..<12, using: &generator))"
    case .uuid: "6BA7B810-9DAD-11D1-80B4-00C04FD430C\(Int.random(in: 0..<8, using: &generator))"
    }
  }
}

extension SplitMix64 {
  /// `true` once in `count` times.
  mutating func isOne(of count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

  mutating func letter() -> String { "abcdefgh".randomElement(using: &self).map(String.init) ?? "" }
}
