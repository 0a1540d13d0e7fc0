import Foundation

/// Compares values of two documents by their meaning: numbers by their value, strings by their characters, objects
/// without regard to the order of their keys.
struct JSONComparison {
  private let one: JSONDocument
  private let other: JSONDocument
  /// The values that are still to be compared. A list instead of recursion, because deep documents could exhaust the
  /// stack.
  private var pending: [(Int, Int)]

  /// Whether a value of one document is equal to a value of another.
  static func areEqual(_ value: Int, of one: JSONDocument, _ otherValue: Int, of other: JSONDocument) -> Bool {
    var comparison = JSONComparison(one: one, other: other, pending: [(value, otherValue)])
    while let (value, otherValue) = comparison.pending.popLast() {
      guard comparison.mayBeEqual(value, otherValue) else { return false }
    }
    return true
  }

  /// Whether two strings, or keys, are equal.
  static func areStringsEqual(_ value: Int, of one: JSONDocument, _ otherValue: Int, of other: JSONDocument) -> Bool {
    if hasSameText(value, of: one, otherValue, of: other) { return true }
    guard one.nodes[value].hasEscapes || other.nodes[otherValue].hasEscapes else { return false }
    return JSONStringBytes(one.contents(of: value)).elementsEqual(JSONStringBytes(other.contents(of: otherValue)))
  }

  /// Whether two values are written with the same bytes.
  static func hasSameText(_ value: Int, of one: JSONDocument, _ otherValue: Int, of other: JSONDocument) -> Bool {
    let (range, otherRange) = (one.nodes[value].range, other.nodes[otherValue].range)
    guard range.count == otherRange.count else { return false }
    return one.bytes.withUnsafeBytes { bytes in
      other.bytes.withUnsafeBytes { otherBytes in
        guard let start = bytes.baseAddress, let otherStart = otherBytes.baseAddress else { return false }
        return memcmp(start + range.lowerBound, otherStart + otherRange.lowerBound, range.count) == 0
      }
    }
  }

  /// Compares two values, and leaves their contents for later.
  private mutating func mayBeEqual(_ value: Int, _ otherValue: Int) -> Bool {
    if Self.hasSameText(value, of: one, otherValue, of: other) { return true }
    let kind = one.nodes[value].kind
    guard kind == other.nodes[otherValue].kind else { return false }
    switch kind {
    case .null, .true, .false: return true
    case .number: return JSONNumber(one.text(of: value)) == JSONNumber(other.text(of: otherValue))
    case .string: return Self.areStringsEqual(value, of: one, otherValue, of: other)
    case .array: return mayHaveEqualElements(value, otherValue)
    case .object: return mayHaveEqualMembers(value, otherValue)
    }
  }

  private mutating func mayHaveEqualElements(_ array: Int, _ otherArray: Int) -> Bool {
    var (element, otherElement) = (array + 1, otherArray + 1)
    let (end, otherEnd) = (Int(one.nodes[array].next), Int(other.nodes[otherArray].next))
    while element < end, otherElement < otherEnd {
      pending.append((element, otherElement))
      (element, otherElement) = (Int(one.nodes[element].next), Int(other.nodes[otherElement].next))
    }
    return element == end && otherElement == otherEnd
  }

  private mutating func mayHaveEqualMembers(_ object: Int, _ otherObject: Int) -> Bool {
    for member in one.members(of: object) where !one.isRepeated(member, of: object) {
      guard let otherMember = other.member(of: otherObject, at: member.key, in: one) else { return false }
      pending.append((member.value, otherMember.value))
    }
    return other.members(of: otherObject)
      .allSatisfy { one.member(of: object, at: $0.key, in: other) != nil }
  }
}
