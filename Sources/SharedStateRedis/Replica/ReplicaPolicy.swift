/// The rules for a replica, fixed when the share is made.
package struct ReplicaPolicy: Hashable, Sendable {
  package var conflict: ConflictPolicy
  var dataLoss: DataLossPolicy
  /// In milliseconds; 0 if the value does not expire.
  package var timeToLive: UInt64
  /// Whether edits made without a revision get one.
  package var detectsForeignEdits: Bool
  /// The largest document that is read, or taken from a message, in bytes.
  package var maximumBytes: Int
  /// The largest document that is sent with the announcement of a change, in bytes. A larger one has to be read.
  package var inlineLimit: Int
  /// The writer that this service names in its commits: label, host, process and nonce, without spaces.
  package var writer: String

  package init(
    conflict: ConflictPolicy = .merge,
    dataLoss: DataLossPolicy = .reseed,
    timeToLive: UInt64 = 0,
    detectsForeignEdits: Bool = true,
    maximumBytes: Int = 1 << 20,
    inlineLimit: Int = 8_192,
    writer: String
  ) {
    self.conflict = conflict
    self.dataLoss = dataLoss
    self.timeToLive = timeToLive
    self.detectsForeignEdits = detectsForeignEdits
    self.maximumBytes = maximumBytes
    self.inlineLimit = inlineLimit
    self.writer = writer
  }
}

/// What happens to a local change when another client has changed the value at the same time.
public enum ConflictPolicy: Hashable, Sendable, CaseIterable {
  /// Both changes are kept if they are to different fields. If they are to the same field, the later commit wins.
  /// Fields unknown to this service are never touched.
  case merge
  /// The later commit wins and replaces the whole value.
  case lastWriteWins
  /// The local change is rolled back, and `saveError` is a ``RedisSharedStateError/Code/conflict``.
  case reject
}

/// What to do when a server has lost a version that it had acknowledged.
public enum DataLossPolicy: Hashable, Sendable, CaseIterable {
  /// The newest value that any live service has seen is written back with its revision.
  case reseed
  /// The server's state counts, even if it is older or empty.
  case adoptServer
}
