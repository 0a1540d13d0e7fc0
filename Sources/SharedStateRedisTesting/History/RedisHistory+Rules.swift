extension RedisHistory {
  /// The rules of one value that the guarantees depend on.
  public struct Rules: Hashable, Codable, Sendable {
    /// Whether boxes go back together with a server that has lost data: the policy `.adoptServer`.
    public var followsLosses: Bool
    /// Whether the value has a time to live.
    public var expires: Bool
    /// Whether the history records every ``RedisHistory/Commit``, every edit with the resulting content, and every
    /// acknowledgement.
    public var isWatched: Bool
    /// Whether the value is a number that every atomic update increases by one, and that nothing else changes.
    public var isCounter: Bool

    /// The rules of a value. The defaults are the rules of a value that was not declared.
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
