@testable import SharedState
import Foundation

/// The meaning of values to a type, as bytes: equal for values with the same meaning.
extension Schema {
  /// - Parameter isFull: Whether members that the type does not know count.
  func meaning(of value: JSONValue, isFull: Bool = false) -> [UInt8] {
    guard fits(value) else { return [UInt8(ascii: "?")] + Self.plainMeaning(of: value) }
    func list(_ name: String, _ parts: [[UInt8]]) -> [UInt8] {
      Array("\(name)\(parts.count)(".utf8) + parts.joined() + Array(")".utf8)
    }
    func sorted(_ parts: some Sequence<[UInt8]>) -> [[UInt8]] { parts.sorted { $0.lexicographicallyPrecedes($1) } }
    switch self {
    case .leaf, .tally: return Self.plainMeaning(of: value)
    case .object(let members, _):
      let parts = value.countedMembers.compactMap { member -> [UInt8]? in
        if let known = members.first(where: { Array($0.name.utf8) == member.key.stringBytes }) {
          guard !member.value.isNull else { return nil }
          return Self.bytes(member.key.stringBytes) + known.schema.meaning(of: member.value, isFull: isFull)
        }
        return isFull ? Self.bytes(member.key.stringBytes) + Self.plainMeaning(of: member.value) : nil
      }
      return list("object", sorted(parts))
    case .map(let key, let values):
      var seen: Set<[UInt8]> = []
      let parts = value.members.compactMap { member -> [UInt8]? in
        let canonical = key.canonical(member.key.stringBytes) ?? member.key.stringBytes
        guard seen.insert(canonical).inserted else { return nil }
        return Self.bytes(canonical) + values.meaning(of: member.value, isFull: isFull)
      }
      return list("map", sorted(parts))
    case .set(let elements):
      return list("set", sorted(Set(value.elements.map { elements.meaning(of: $0, isFull: isFull) })))
    case .list(_, _, let elements):
      return list("list", value.elements.map { elements.meaning(of: $0, isFull: isFull) })
    case .enumeration(_, let payloads):
      guard let (name, payload) = value.onlyMember else { return Self.plainMeaning(of: value) }
      return list(
        "case",
        [Self.bytes(Array(name.utf8)), (payloads[name] ?? .leaf).meaning(of: payload, isFull: isFull)]
      )
    }
  }

  /// The identity of an element of a set.
  func elementMeaning(of value: JSONValue) -> [UInt8] {
    value.kind == .string ? Self.bytes(Self.composed(value.stringBytes)) : meaning(of: value)
  }

  /// The identity of an element of a list; `nil` when it cannot be read.
  static func identity(of value: JSONValue, _ names: [String], isUUID: Bool) -> [UInt8]? {
    var identity: [UInt8] = []
    for name in names {
      guard let part = value[name] else { return nil }
      switch part.kind {
      case .number: identity += number(part.text)
      case .string where isUUID:
        identity += bytes(Array(String(decoding: part.stringBytes, as: UTF8.self).uppercased().utf8))
      case .string: identity += bytes(composed(part.stringBytes))
      default: return nil
      }
    }
    return identity
  }

  /// The meaning of a value whose type is unknown.
  static func plainMeaning(of value: JSONValue) -> [UInt8] {
    switch value.kind {
    case .null, .true, .false: return value.text
    case .number: return number(value.text)
    case .string: return bytes(value.stringBytes)
    case .array: return Array("[".utf8) + value.elements.map(plainMeaning).joined() + Array("]".utf8)
    case .object:
      let parts = value.countedMembers.map { bytes($0.key.stringBytes) + plainMeaning(of: $0.value) }
      return Array("{".utf8) + parts.sorted { $0.lexicographicallyPrecedes($1) }.joined() + Array("}".utf8)
    }
  }

  /// The composed form, by which Swift compares strings.
  static func composed(_ bytes: [UInt8]) -> [UInt8] {
    String(validating: bytes, as: UTF8.self).map { Array($0.precomposedStringWithCanonicalMapping.utf8) } ?? bytes
  }

  private static func bytes(_ bytes: [UInt8]) -> [UInt8] { Array("s\(bytes.count):".utf8) + bytes }

  /// A number's sign, its digits without zeros at the ends, and its power of ten.
  static func number(_ text: [UInt8]) -> [UInt8] {
    let parts = String(decoding: text, as: UTF8.self).lowercased().split(separator: "e")
    let mantissa = parts[0].drop { $0 == "-" }.split(separator: ".")
    let fraction = mantissa.count > 1 ? String(mantissa[1]) : ""
    var digits = String(mantissa[0]) + fraction
    var exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) - fraction.count
    while digits.last == "0" {
      digits.removeLast()
      exponent += 1
    }
    digits = String(digits.drop { $0 == "0" })
    if digits.isEmpty { return Array("n0;".utf8) }
    let sign = text.first == UInt8(ascii: "-") ? "-" : ""
    return Array("n\(sign)\(digits)e\(exponent);".utf8)
  }
}

extension Schema.Key {
  /// The canonical spelling of a key; `nil` when it is no key.
  func canonical(_ bytes: [UInt8]) -> [UInt8]? {
    let string = String(decoding: bytes, as: UTF8.self)
    switch self {
    case .string: return String(validating: bytes, as: UTF8.self).map { _ in Schema.composed(bytes) }
    case .uuid: return Array(string.uppercased().utf8)
    case .int: return Int(string).map { Array("\($0)".utf8) }
    }
  }
}
