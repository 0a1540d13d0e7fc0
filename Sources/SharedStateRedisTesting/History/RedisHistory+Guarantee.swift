extension RedisHistory {
  /// A promise about every shared value, as the articles of the module `SharedStateRedis` describe it.
  public enum Guarantee: String, CaseIterable, Codable, Sendable {
    /// A box never goes back to an older revision.
    case ordered = "Ordered"
    /// A change that comes back to the service that made it triggers no notification, and never overwrites a newer
    /// change.
    case noEcho = "NoEcho"
    /// Once writes stop and every service is connected, every box equals the value in Redis.
    case converges = "Converges"
    /// A change that is made while Redis is unreachable is delivered when Redis is back.
    case pendingSurvives = "PendingSurvives"
    /// An acknowledged change is not lost. If the server loses it, a service restores it.
    case acknowledgedSurvives = "AcknowledgedSurvives"
    /// An atomic update takes effect once.
    case exactlyOnceUpdates = "ExactlyOnceUpdates"
    /// Changes of different fields are all kept, and so are fields that no service knows.
    case fieldsMerge = "FieldsMerge"
    /// Boxes follow edits by programs that know no revisions, and each edit is assigned a revision.
    case foreignEditsSeen = "ForeignEditsSeen"
    /// A local change does not overwrite data that cannot be read.
    case badDataHeld = "BadDataHeld"
    /// A service whose changes come too late gets its turn.
    case fair = "Fair"
    /// Nothing outside the namespace is read, written or listened to.
    case isolated = "Isolated"
    /// Memory use grows with the number of values, not with the number of writes or messages.
    case bounded = "Bounded"
  }
}
