extension History {
  /// What is agreed about one value, as far as guarantees depend on it.
  public struct Rules: Hashable, Codable, Sendable {
    /// Whether boxes go back with a server that has lost something: the policy `.adoptServer`.
    public var followsLosses: Bool
    /// Whether it has a time to live.
    public var expires: Bool
    /// Whether every ``History/Commit`` of it is recorded, every edit with what it left, and every acknowledgement.
    public var isWatched: Bool
    /// Whether it is a number that every atomic update raises by one, and nobody else changes.
    public var isCounter: Bool

    /// The rules of a value; those that are left out are those of a value nobody has declared.
    public init(
      followsLosses: Bool = false,
      expires: Bool = false,
      isWatched: Bool = false,
      isCounter: Bool = false
    ) {
      self.followsLosses = followsLosses
      self.expires = expires
      self.isWatched = isWatched
      self.isCounter = isCounter
    }
  }
}
