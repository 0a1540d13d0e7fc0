extension RedisHistory {
  /// A broken guarantee, and how a history breaks it.
  public struct Violation: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The broken guarantee.
    public let guarantee: Guarantee
    /// A description of what happened.
    public let text: String
    /// The index of the event that shows the violation.
    public let position: Int

    /// The guarantee, the text and the position.
    public var description: String { "\(guarantee.rawValue): \(text) (event \(position))" }
  }
}
