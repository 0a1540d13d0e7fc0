extension LinkState {
  /// The configuration of a link.
  struct Configuration: Sendable {
    var backoff: RedisConfiguration.Backoff
    var requestTimeout: Duration
    var keepAlive: Duration
    /// How long `load()` and `save()` wait.
    var operationTimeout: Duration
    var writer: String
    var nonce: String
    var namespace: String
    var database: Int
    /// Whether the link may write anything.
    var access: RedisAccess
    /// Stored as the secret of the namespace if there is none.
    var secret: Secret
    /// The interval after which a value that was not read meanwhile is compared with the stored one.
    var antiEntropy: Duration
    /// The size, in bytes, up to which a document is read whatever its summary says. Such a read costs as little as the
    /// summary.
    var smallDocument: Int
    /// How long a value's last encoding may have taken for its callers to encode and send it themselves, while nothing
    /// is under way. Zero: they never do.
    var quickEncoding: Duration
    /// Whether the link rests, without threads and connections, while it has no replica.
    var restsWhenUnused: Bool
    /// How long after a change the snapshot is written; `nil`: there is none.
    var snapshotDelay: Duration?
    /// Whether every decision about a value is logged.
    var logsDecisions: Bool

    /// How long a service waits for others to repair a value.
    func duration(of grace: Grace) -> Duration {
      switch grace {
      case .moment: .seconds(1)
      case .antiEntropy: antiEntropy
      }
    }

    init(
      backoff: RedisConfiguration.Backoff,
      requestTimeout: Duration,
      keepAlive: Duration,
      operationTimeout: Duration,
      writer: String,
      nonce: String,
      namespace: String = "",
      database: Int = 0,
      access: RedisAccess = .readWrite,
      secret: Secret = .random(),
      antiEntropy: Duration = .seconds(60),
      smallDocument: Int = 1_024,
      quickEncoding: Duration = .microseconds(100),
      restsWhenUnused: Bool,
      snapshotDelay: Duration? = nil,
      logsDecisions: Bool = false
    ) {
      self.backoff = backoff
      self.requestTimeout = requestTimeout
      self.keepAlive = keepAlive
      self.operationTimeout = operationTimeout
      self.writer = writer
      self.nonce = nonce
      self.namespace = namespace
      self.database = database
      self.access = access
      self.secret = secret
      self.antiEntropy = antiEntropy
      self.smallDocument = smallDocument
      self.quickEncoding = quickEncoding
      self.restsWhenUnused = restsWhenUnused
      self.snapshotDelay = snapshotDelay
      self.logsDecisions = logsDecisions
    }
  }
}
