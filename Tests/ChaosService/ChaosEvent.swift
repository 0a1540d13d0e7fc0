/// What a service tells, as one line of JSON.
enum ChaosEvent: Codable, Sendable {
  /// The document is this now.
  case saw(ChaosDocument)
  /// The count is this now.
  case counted(Int)
  /// An atomic update has taken effect, and made the count this.
  case updated(Int)
  /// Nobody knows whether an atomic update has taken effect.
  case outcomeUnknown
  /// A command was carried out.
  case answered(ChaosReport)
}
