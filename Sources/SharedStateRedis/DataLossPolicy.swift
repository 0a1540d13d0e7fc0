/// What to do when a server has lost a version that it had acknowledged.
public enum DataLossPolicy: Hashable, Sendable, CaseIterable {
  /// The newest value that any live service has seen is written back with its revision.
  case reseed
  /// The server's state counts, even if it is older or empty.
  case adoptServer
}
