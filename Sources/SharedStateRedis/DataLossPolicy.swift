/// What to do when a server has lost a version that it had acknowledged.
public enum DataLossPolicy: Hashable, Sendable {
  /// The services restore the newest value that any of them has seen, with its revision.
  case reseed
  /// The services take the server's state, even if it is older or empty.
  case adoptServer
}
