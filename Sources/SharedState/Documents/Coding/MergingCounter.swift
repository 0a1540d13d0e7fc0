/// A number that several services add to: every addition counts.
///
/// In the document it is a plain number. Setting it back to zero subtracts its value, and two services that do so at
/// the same time subtract it twice. Begin a new counter under a new key instead.
public struct MergingCounter: Hashable, Sendable {
  /// The sum of all that was added.
  public var value: Int

  /// Begins with a value.
  public init(_ value: Int = 0) {
    self.value = value
  }
}

extension MergingCounter: ThreeWayMergeable {
  /// Adds what both sides have added. A sum that does not fit in an `Int` becomes the nearest one that does.
  public static func merged(base: MergingCounter?, mine: MergingCounter, theirs: MergingCounter) -> MergingCounter {
    let sum = Int128(theirs.value) + Int128(mine.value) - Int128(base?.value ?? 0)
    return MergingCounter(Int(clamping: sum))
  }
}

extension MergingCounter: Codable {
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

extension MergingCounter: ExpressibleByIntegerLiteral {
  /// Begins with a value.
  public init(integerLiteral value: Int) {
    self.init(value)
  }
}

extension MergingCounter: CustomStringConvertible {
  /// The number.
  public var description: String { "\(value)" }
}
