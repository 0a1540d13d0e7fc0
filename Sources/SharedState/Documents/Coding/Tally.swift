/// A number that several services add to: every addition counts.
///
/// In the document it is a plain number. Setting it back to zero subtracts its value, and two services that do so at
/// the same time subtract it twice. Begin a new tally under a new key instead.
public struct Tally: Hashable, Sendable {
  /// The sum of all that was added.
  public var value: Int

  /// Begins with a value.
  public init(_ value: Int = 0) {
    self.value = value
  }
}

extension Tally: ThreeWayMergeable {
  /// Adds what both sides have added. A sum that does not fit in an `Int` becomes the nearest one that does.
  public static func merged(base: Tally?, mine: Tally, theirs: Tally) -> Tally {
    let sum = Int128(theirs.value) + Int128(mine.value) - Int128(base?.value ?? 0)
    return Tally(Int(clamping: sum))
  }
}

extension Tally: Codable {
  /// Reads a plain number.
  public init(from decoder: any Decoder) throws {
    value = try decoder.singleValueContainer().decode(Int.self)
  }

  /// Writes a plain number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}

extension Tally: ExpressibleByIntegerLiteral {
  /// Begins with a value.
  public init(integerLiteral value: Int) {
    self.init(value)
  }
}

extension Tally: CustomStringConvertible {
  /// The number.
  public var description: String { "\(value)" }
}
