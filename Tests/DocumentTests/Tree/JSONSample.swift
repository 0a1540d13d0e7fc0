@testable import SharedState
import SharedStateDependencies

/// A JSON value for tests, with a plain recursive model of ``ThreeWayMerge``.
indirect enum JSONSample: Equatable {
  case null
  case bool(Bool)
  /// A number by its integer value, which has many spellings.
  case number(Int)
  case string(String)
  case array([JSONSample])
  case object([String: JSONSample])

  var members: [String: JSONSample]? {
    if case .object(let members) = self { members } else { nil }
  }

  /// The difference between two values, applied to a third one.
  static func merge(base: JSONSample?, mine: JSONSample?, theirs: JSONSample?) -> JSONSample? {
    if base == mine { return theirs }
    guard let mineMembers = mine?.members, let theirMembers = theirs?.members else { return mine }
    if base != nil, base != .null, base?.members == nil { return mine }
    let isEnum = (base?.members?.count ?? 1) == 1 && mineMembers.count == 1 && theirMembers.count == 1
    if isEnum, mineMembers.keys != theirMembers.keys { return mine }
    var merged: [String: JSONSample] = [:]
    for key in Set(mineMembers.keys).union(theirMembers.keys) {
      merged[key] = merge(base: base?.members?[key], mine: mineMembers[key], theirs: theirMembers[key])
    }
    return .object(merged)
  }

  // MARK: Random values

  private static let keys = ["a", "b", "c", "\"", "é", "键", "🙂", "k\n", "long key number 1"]

  /// A small value. It has few different keys and scalars, so that values often meet.
  static func random(depth: Int = 3, using generator: inout SplitMix64) -> JSONSample {
    switch Int.random(in: 0..<(depth > 0 ? 12 : 5), using: &generator) {
    case 0: .null
    case 1: .bool(.random(using: &generator))
    case 2, 3: .number(.random(in: -3...1_200, using: &generator) / 100 * 100)
    case 4: .string(keys.randomElement(using: &generator) ?? "")
    case 5:
      .array((0..<Int.random(in: 0..<4, using: &generator)).map { _ in random(depth: depth - 1, using: &generator) })
    default: randomObject(depth: depth, using: &generator)
    }
  }

  static func randomObject(depth: Int = 3, using generator: inout SplitMix64) -> JSONSample {
    var members: [String: JSONSample] = [:]
    // Now and then an object that is large enough for an index.
    let isLarge = Int.random(in: 0..<40, using: &generator) == 0
    for number in 0..<Int.random(in: isLarge ? 14..<40 : 0..<5, using: &generator) {
      let key = isLarge ? "key \(number)" : keys.randomElement(using: &generator) ?? ""
      members[key] = random(depth: isLarge ? 0 : depth - 1, using: &generator)
    }
    return .object(members)
  }

  /// The same value with some changes in it.
  func changed(using generator: inout SplitMix64) -> JSONSample {
    guard case .object(var members) = self, Int.random(in: 0..<10, using: &generator) > 0 else {
      return .random(depth: 2, using: &generator)
    }
    for key in members.keys.sorted() {
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: members[key] = nil
      case 1, 2: members[key] = members[key]?.changed(using: &generator)
      default: break
      }
    }
    if Bool.random(using: &generator), let key = Self.keys.randomElement(using: &generator) {
      members[key] = .random(depth: 2, using: &generator)
    }
    return .object(members)
  }

  // MARK: Text

  /// The value as JSON, in one of its many spellings.
  func text(using generator: inout SplitMix64) -> String {
    func space() -> String { ["", "", "", " ", "\n\t", "\r\n  "].randomElement(using: &generator) ?? "" }
    func list(_ items: [String], _ open: String, _ close: String) -> String {
      open + space() + items.joined(separator: space() + "," + space()) + space() + close
    }
    switch self {
    case .null: return "null"
    case .bool(let value): return "\(value)"
    case .number(let value):
      return ["\(value)", "\(value).0", "\(value / 100)e2", "\(value / 100).00E+0002"].randomElement(using: &generator)
        ?? ""
    case .string(let value): return Self.quoted(value, using: &generator)
    case .array(let elements): return list(elements.map { $0.text(using: &generator) }, "[", "]")
    case .object(let members):
      let texts = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.shuffled(using: &generator).map
      {
        Self.quoted($0.key, using: &generator) + space() + ":" + space() + $0.value.text(using: &generator)
      }
      return list(texts, "{", "}")
    }
  }

  func document(using generator: inout SplitMix64) throws -> JSONDocument {
    try JSONDocument(text(using: &generator))
  }

  private static func quoted(_ string: String, using generator: inout SplitMix64) -> String {
    let units = string.unicodeScalars.map { scalar in
      let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
      guard mustEscape || Int.random(in: 0..<4, using: &generator) == 0 else { return String(scalar) }
      return String(scalar).utf16.map { unit in
        let digits = String(unit, radix: 16, uppercase: unit % 2 == 0)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }.joined()
    }
    return "\"" + units.joined() + "\""
  }
}
