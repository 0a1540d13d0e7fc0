/// A server that belongs to the demonstration, which may stop it and start it again.
protocol DemoServer: Sendable {
  /// Its name, for the reader.
  var title: String { get }
  /// The command by which an outside tool reads the config, for the reader.
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
  /// The standard error of the server and of the services on it.
  var log: String { get }
  /// Stops it for good, and leaves nothing behind.
  func end() async throws
}
