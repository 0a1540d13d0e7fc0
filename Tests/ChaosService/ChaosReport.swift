/// What a service has at the end of a command.
struct ChaosReport: Codable, Hashable, Sendable {
  var document: ChaosDocument
  var count: Int
  /// What the service wrote into its own field last.
  var written: Int
}
