/// What holds for every shared value, as the articles of the module `SharedStateRedis` promise it.
public enum Guarantee: String, CaseIterable, Codable, Sendable {
  /// A box never goes back to an older revision.
  case ordered = "Ordered"
  /// A change that comes back to the service that made it notifies nobody, and never overwrites a newer one.
  case noEcho = "NoEcho"
  /// Once writes stop and everyone is connected, every box equals the value in Redis.
  case converges = "Converges"
  /// A change that is made while Redis is away is delivered when it is back.
  case pendingSurvives = "PendingSurvives"
  /// What the server has acknowledged is not lost, and a server that has lost it is given it back.
  case acknowledgedSurvives = "AcknowledgedSurvives"
  /// An atomic update takes effect once.
  case exactlyOnceUpdates = "ExactlyOnceUpdates"
  /// Changes of different fields are both kept, and so are fields that nobody knows.
  case fieldsMerge = "FieldsMerge"
  /// Boxes follow what somebody writes who knows no revisions, and it gets a revision.
  case foreignEditsSeen = "ForeignEditsSeen"
  /// What cannot be read is not overwritten by a local change.
  case badDataHeld = "BadDataHeld"
  /// Nothing outside the namespace is read, written or listened to.
  case isolated = "Isolated"
  /// What is kept grows with the number of values, not with the number of writes or messages.
  case bounded = "Bounded"
}
