/// A guarantee that a history breaks, and how.
public struct Violation: Hashable, Codable, Sendable, CustomStringConvertible {
  /// What is broken.
  public let guarantee: Guarantee
  /// Who has broken it, and by what.
  public let text: String
  /// Which event of the history shows it.
  public let position: Int

  /// The guarantee, what happened, and where in the history.
  public var description: String { "\(guarantee.rawValue): \(text) (event \(position))" }
}
