extension RedisHistory {
  /// The amount of data that one service keeps.
  public struct Load: Hashable, Codable, Sendable {
    /// How many values it has boxes for.
    public var values: Int
    /// How many unacknowledged changes it keeps.
    public var changes: Int
    /// How many entries its longest queue has.
    public var queued: Int
    /// How many entries a queue may have.
    public var limit: Int

    /// The amount of data that a service keeps.
    public init(values: Int, changes: Int, queued: Int = 0, limit: Int = 0) {
      self.values = values
      self.changes = changes
      self.queued = queued
      self.limit = limit
    }
  }
}
