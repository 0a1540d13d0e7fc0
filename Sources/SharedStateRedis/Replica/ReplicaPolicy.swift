/// The rules for a replica, fixed when the share is made.
struct ReplicaPolicy: Equatable, Sendable {
  var conflict: ConflictPolicy
  var dataLoss: DataLossPolicy
  /// In milliseconds; 0 if the value does not expire.
  var timeToLive: UInt64
  /// Whether edits made without a revision are adopted.
  var detectsForeignEdits: Bool
  /// Whether this service may commit and repair anything.
  var access: RedisAccess
  /// The largest document that is read, or taken from a message, in bytes.
  var maximumBytes: Int
  /// The largest document that is sent with the announcement of a change, in bytes. A larger one has to be read.
  var inlineLimit: Int
  /// The replicas of the server that have to have a change before it counts as saved.
  var replicas: RedisReplicas
  /// Whether the last document supplies members that cannot be read.
  var keepsUnreadableMembers = false
  /// The writer that this service names in its commits: label, host, process and nonce, without spaces.
  var writer: String

  init(
    conflict: ConflictPolicy = .merge,
    dataLoss: DataLossPolicy = .reseed,
    timeToLive: UInt64 = 0,
    detectsForeignEdits: Bool = true,
    access: RedisAccess = .readWrite,
    maximumBytes: Int = DocumentLimit.standard,
    inlineLimit: Int = 8_192,
    replicas: RedisReplicas = 0,
    writer: String
  ) {
    self.conflict = conflict
    self.dataLoss = dataLoss
    self.timeToLive = timeToLive
    self.detectsForeignEdits = detectsForeignEdits
    self.access = access
    self.maximumBytes = maximumBytes
    self.inlineLimit = inlineLimit
    self.replicas = replicas
    self.writer = writer
  }
}

/// The size of documents that a key allows.
@usableFromInline
enum DocumentLimit {
  /// Unless the options of the key have another one, in bytes.
  @usableFromInline static let standard = 1 << 20
}
