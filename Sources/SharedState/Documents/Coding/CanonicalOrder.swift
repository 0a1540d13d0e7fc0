/// The place of an element or a key among others that have no order of their own: numbers by their value, then strings
/// by their scalars, then all others by their text.
struct CanonicalOrder: Comparable, Sendable {
  enum Rank: Int { case number, string, other }

  /// The text that this library's encoder writes.
  let json: [UInt8]
  /// Whether it is a number, a string or of another kind.
  let rank: Rank
  /// The value of a number that is an `Int`.
  private let integer: Int?
  /// The bytes of a string that has escapes.
  private let unescaped: [UInt8]?

  /// Takes the JSON of an element or of a key, as this library's encoder writes it.
  init(_ json: some Collection<UInt8>) {
    self.json = Array(json)
    var (integer, unescaped): (Int?, [UInt8]?)
    switch self.json.first ?? 0 {
    case UInt8(ascii: "\""):
      rank = .string
      if self.json.contains(UInt8(ascii: "\\")) { unescaped = Array(JSONStringBytes(self.json[1...].dropLast())) }
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      rank = .number
      integer = Int(String(decoding: self.json, as: UTF8.self))
    default:
      rank = .other
    }
    (self.integer, self.unescaped) = (integer, unescaped)
  }

  static func < (one: Self, other: Self) -> Bool {
    if one.rank != other.rank { return one.rank.rawValue < other.rank.rawValue }
    switch one.rank {
    case .number:
      if let integer = one.integer, let other = other.integer { return integer < other }
      return JSONNumber(one.json[...]) < JSONNumber(other.json[...])
    case .string: return one.contents.lexicographicallyPrecedes(other.contents)
    case .other: return one.json.lexicographicallyPrecedes(other.json)
    }
  }

  static func == (one: Self, other: Self) -> Bool { one.json == other.json }

  /// The bytes of a string.
  private var contents: ArraySlice<UInt8> { unescaped?[...] ?? json[1...].dropLast() }
}
