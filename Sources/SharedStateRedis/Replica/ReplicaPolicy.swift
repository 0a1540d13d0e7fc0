/// How a replica deals with its value, decided when the share is made.
package struct ReplicaPolicy: Hashable, Sendable {
  package var conflict: ConflictPolicy
  package var dataLoss: DataLossPolicy
  /// In milliseconds; 0: the value does not expire.
  package var timeToLive: UInt64
  /// Whether edits that were made without a revision get one.
  package var detectsForeignEdits: Bool
  /// A larger document is neither read nor taken from a message.
  package var maximumBytes: Int
  /// How this service signs its commits.
  package var writer: String

  package init(
    conflict: ConflictPolicy = .merge,
    dataLoss: DataLossPolicy = .reseed,
    timeToLive: UInt64 = 0,
    detectsForeignEdits: Bool = true,
    maximumBytes: Int = 1 << 20,
    writer: String
  ) {
    self.conflict = conflict
    self.dataLoss = dataLoss
    self.timeToLive = timeToLive
    self.detectsForeignEdits = detectsForeignEdits
    self.maximumBytes = maximumBytes
    self.writer = writer
  }
}

/// What becomes of a local change when somebody else has changed the value at the same time.
public enum ConflictPolicy: Hashable, Sendable, CaseIterable {
  /// Both changes are kept where they are changes of different fields; of two changes of one field the later commit
  /// wins. Fields that this service does not know are never touched.
  case merge
  /// The later commit wins, whole.
  case lastWriteWins
  /// The local change is rolled back, and `saveError` is a ``RedisSharedStateError/Code/conflict``.
  case reject
}

/// What to do when a server has lost what it had acknowledged.
public enum DataLossPolicy: Hashable, Sendable, CaseIterable {
  /// The newest value that any live service has seen is written back, with its revision.
  case reseed
  /// What the server has, or has not, is what counts, although it is older.
  case adoptServer
}
