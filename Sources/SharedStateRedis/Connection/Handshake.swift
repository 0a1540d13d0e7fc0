/// Prepares a new connection for use: sends the commands, and interprets their replies.
struct Handshake {
  private enum Step {
    case authenticate, select, name, clientID, role, commitScript, restoreScript
    /// INFO, with all required sections, or with one of them.
    case information, section
  }

  private(set) var digests = ScriptDigests()
  private(set) var facts = ServerFacts()
  private(set) var dialect: Dialect
  private var vitalsParser = VitalsParser()
  private var steps: ArraySlice<Step> = []
  private let formatter: RedisFormatter
  private let access: RedisAccess
  private let isProxied: Bool

  /// Adds all commands together, so that they need one round trip.
  ///
  /// - Parameters:
  ///   - credentials: `nil`: the server requires none.
  ///   - digests: The digests of the scripts that an earlier handshake with the same server returned. A server that no
  ///     longer knows a script says so when the script is used.
  init(
    configuration: RedisConfiguration,
    credentials: RedisCredentials?,
    purpose: ConnectionPurpose,
    digests: ScriptDigests = ScriptDigests(),
    formatter: RedisFormatter
  ) {
    self.digests = digests
    self.formatter = formatter
    access = configuration.access
    isProxied = configuration.isProxied
    let isCluster = configuration.location.isCluster
    // Servers that hide their version are taken for new ones.
    dialect = Dialect(isCluster: isCluster, isSharded: isCluster)
    if let credentials {
      steps.append(.authenticate)
      formatter.add("AUTH") { command in
        if let user = credentials.user { command.argument(user) }
        command.argument(credentials.password)
      }
    }
    if configuration.database != 0 {
      steps.append(.select)
      formatter.add("SELECT") { $0.argument(UInt64(configuration.database)) }
    }
    steps.append(.name)
    formatter.add("CLIENT", "SETNAME") { $0.argument("\(configuration.label):\(purpose.rawValue)") }
    guard purpose == .writer else {
      steps.append(.clientID)
      formatter.add("CLIENT", "ID")
      askForInfo(.section, ["server"])
      return
    }
    steps.append(.role)
    formatter.add("ROLE")
    askForInfo(.information, ["server", "clients", "persistence", "replication", "stats"])
    guard access == .readWrite, digests.commit == nil || digests.restore == nil else { return }
    let scripts = [
      (Step.commitScript, CommitScript.source(for: dialect)), (.restoreScript, RestoreScript.source(for: dialect)),
    ]
    for (step, source) in scripts {
      steps.append(step)
      formatter.add("SCRIPT", "LOAD") { $0.argument(source) }
    }
  }

  private mutating func askForInfo(_ step: Step, _ sections: [String]) {
    steps.append(step)
    formatter.add("INFO") { for section in sections { $0.argument(section) } }
  }

  /// Whether every command is answered.
  var isDone: Bool { steps.isEmpty }

  /// The upper bound of the next reply.
  var bound: ReplyBound {
    switch steps.first {
    case .role: .role
    case .information, .section: .information
    case .authenticate, .select, .name, .clientID, .commitScript, .restoreScript, nil: .word
    }
  }

  /// Takes the reply to the next command.
  /// - Throws: ``RedisSharedStateError``: the reason why the connection cannot be used.
  mutating func handle(_ reply: RedisReplyView) throws(RedisSharedStateError) {
    guard let step = steps.popFirst() else {
      throw .protocolViolation(reason: "the handshake received more replies than it sent commands")
    }
    if reply.kind == .error { return try handle(error: reply.string, step) }
    switch step {
    case .role:
      guard reply.count > 0 else { throw .protocolViolation(reason: "the reply to ROLE has an unknown form") }
      guard !reply[0].isEqual(to: "sentinel") else { throw Self.isSentinel }
      if let refusal = access.refusal(of: reply) { throw refusal }
    case .clientID:
      guard reply.kind == .integer else { throw .protocolViolation(reason: "the reply to CLIENT ID is not a number") }
      if !isProxied { facts.clientID = reply.integer }
    case .information, .section:
      try take(ServerInfo(reply.string))
    case .commitScript:
      digests.commit = try Self.digest(reply)
    case .restoreScript:
      digests.restore = try Self.digest(reply)
    case .authenticate, .select, .name:
      guard reply.isEqual(to: "OK") else { throw .protocolViolation(reason: "the handshake has an unknown reply") }
    }
  }

  /// Keeps the facts of sections that this INFO does not contain.
  private mutating func take(_ info: ServerInfo) throws(RedisSharedStateError) {
    // Such a server answers every command of a handshake, and refuses all that come after it.
    if info.isLoading { throw .serverError(code: "LOADING") }
    guard dialect.isCluster || info.mode != "cluster" else { throw Self.isNode }
    if let version = info.majorVersion {
      dialect.isSharded = dialect.isCluster && version >= Dialect.firstShardedVersion
    }
    if !isProxied { facts.runID = info.runID ?? facts.runID }
    facts.clock = info.clock ?? facts.clock
    facts.clients = info.clients ?? facts.clients
    vitalsParser.runID = facts.runID
    vitalsParser.take(info)
    facts.vitals = vitalsParser.vitals
  }

  /// The configuration is for a single server.
  static let isNode = RedisSharedStateError.invalidURL(
    reason: "its server is a node of a cluster; it has to begin with redis+cluster or rediss+cluster"
  )

  static let isSentinel = RedisSharedStateError.invalidURL(
    reason: "its server is a Sentinel; it has to begin with redis+sentinel or rediss+sentinel"
  )

  private static func digest(_ reply: RedisReplyView) throws(RedisSharedStateError) -> String {
    guard reply.kind == .string, reply.bytes.count == 40 else {
      throw .protocolViolation(reason: "the reply to SCRIPT LOAD has an unknown form")
    }
    return reply.string
  }

  private mutating func handle(error: String, _ step: Step) throws(RedisSharedStateError) {
    let operation =
      switch step {
      case .authenticate: "AUTH"
      case .select: "SELECT"
      case .name: "CLIENT SETNAME"
      case .clientID: "CLIENT ID"
      case .role: "ROLE"
      case .information, .section: "INFO"
      case .commitScript, .restoreScript: "SCRIPT LOAD"
      }
    let error = RedisSharedStateError(errorReply: error, operation: operation)
    switch (step, error.cause) {
    case (.authenticate, .serverError(code: "ERR")):
      // The server has no password, or does not support users.
      throw .authenticationFailed
    case (.select, .serverError(code: "ERR")):
      throw .invalidURL(reason: "the server has no database of its number")
    case (.authenticate, _), (.select, _):
      throw error
    case (.information, .serverError(code: "ERR")):
      // Before 7.0 a server takes one section at a time.
      for section in ["server", "persistence", "replication", "stats"] { askForInfo(.section, [section]) }
    default:
      guard Self.isDispensable(error) else { throw error }
    }
  }

  /// Whether the server does not know a command of the handshake, or the user may not run it. The connection works
  /// without it.
  static func isDispensable(_ error: RedisSharedStateError) -> Bool {
    switch error.cause {
    case .serverError(code: "ERR"), .permissionDenied: true
    default: false
    }
  }
}

/// The forms of some commands that differ between a single server and a cluster.
struct Dialect: Equatable, Sendable {
  /// Whether the server is a node of a cluster.
  let isCluster: Bool
  /// Whether messages stay within the nodes that have the slot of their channel, as clusters can since 7.0.
  var isSharded: Bool

  static let firstShardedVersion = 7

  /// A single server.
  static let single = Dialect(isCluster: false, isSharded: false)

  var subscribe: StaticString { isSharded ? "SSUBSCRIBE" : "SUBSCRIBE" }
  var unsubscribe: StaticString { isSharded ? "SUNSUBSCRIBE" : "UNSUBSCRIBE" }
  var listeners: StaticString { isSharded ? "SHARDNUMSUB" : "NUMSUB" }
}
