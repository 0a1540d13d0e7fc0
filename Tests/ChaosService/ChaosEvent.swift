import SharedStateTesting

/// What a service tells, as one line of JSON.
enum ChaosEvent: Codable, Sendable {
  /// It has done or seen something.
  case recorded(History.Event)
  /// A command was carried out, and its boxes have this.
  case answered([History.Rest.Held])
}
