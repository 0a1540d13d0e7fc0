/// The rules for a replica, fixed when the share is made.
package struct ReplicaPolicy: Hashable, Sendable {
  package var conflict: ConflictPolicy
  var dataLoss: DataLossPolicy
  /// In milliseconds; 0 if the value does not expire.
  package var timeToLive: UInt64
  /// Whether edits made without a revision get one.
  package var detectsForeignEdits: Bool
  /// Whether a version that the server has lost is restored, and an edit gets a revision. Otherwise that is left to
  /// other services, and the replica writes nothing that the program has not asked for.
  package var repairs: Bool
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
    repairs: Bool = true,
    maximumBytes: Int = 1 << 20,
    inlineLimit: Int = 8_192,
    writer: String
  ) {
    self.conflict = conflict
    self.dataLoss = dataLoss
    self.timeToLive = timeToLive
    self.detectsForeignEdits = detectsForeignEdits
    self.repairs = repairs
    self.maximumBytes = maximumBytes
    self.inlineLimit = inlineLimit
    self.writer = writer
  }
}
