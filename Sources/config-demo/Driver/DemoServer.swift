/// A server that belongs to the demonstration, which may stop it and start it again.
protocol DemoServer: Sendable {
  /// What it is, for the reader.
  var title: String { get }
  /// How an outside tool reads the config, for the reader.
  var tool: String { get }

  /// Starts it, with the data it had when it was stopped.
  func start() async throws
  func stop() async throws
  /// Starts a service on it.
  func addService(_ name: String) async throws -> Participant
  /// Reads the config's document as an outside tool does.
  func get() async throws -> String
  /// Writes the config's document as an outside tool does.
  func set(_ document: String) async throws
  /// What it, and the services on it, wrote to standard error.
  var log: String { get }
  /// Stops it for good, and leaves nothing behind.
  func end() async throws
}
