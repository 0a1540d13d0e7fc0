/// What is said on a new connection before it is of use: the commands, and what their replies mean.
package struct Handshake {
  private enum Step {
    case authenticate, select, name, role, script
  }

  /// The digest that the server knows ``CommitScript`` by; `nil`: the user may not load scripts.
  package private(set) var scriptDigest: String?
  private var steps: ArraySlice<Step> = []

  /// Adds all commands at once: they need one round trip.
  package init(configuration: RedisConfiguration, purpose: ConnectionPurpose, formatter: RedisFormatter) {
    if let credentials = configuration.credentials {
      steps.append(.authenticate)
      formatter.add { command in
        command.argument("AUTH")
        if let user = credentials.user { command.argument(user) }
        command.argument(credentials.password)
      }
    }
    if configuration.database != 0 {
      steps.append(.select)
      formatter.add { command in
        command.argument("SELECT")
        command.argument(UInt64(configuration.database))
      }
    }
    steps.append(.name)
    formatter.add { command in
      command.argument("CLIENT")
      command.argument("SETNAME")
      command.argument("\(configuration.label):\(purpose.rawValue)")
    }
    guard purpose == .writer else { return }
    steps.append(.role)
    formatter.add { $0.argument("ROLE") }
    steps.append(.script)
    formatter.add { command in
      command.argument("SCRIPT")
      command.argument("LOAD")
      command.argument(CommitScript.source)
    }
  }

  /// Whether every command is answered.
  package var isDone: Bool { steps.isEmpty }

  /// Takes the reply to the next command.
  /// - Throws: ``RedisSharedStateError``: what keeps the connection from being of use.
  package mutating func handle(_ reply: RedisReplyView) throws(RedisSharedStateError) {
    guard let step = steps.popFirst() else {
      throw .protocolViolation(reason: "the handshake was answered with more than was asked")
    }
    if reply.kind == .error {
      try handle(error: reply.string, step)
    } else if step == .role {
      guard reply.count > 0 else { throw .protocolViolation(reason: "the answer to ROLE has an unknown form") }
      guard reply[0].isEqual(to: "master") else { throw .notPrimary }
    } else if step == .script {
      guard reply.kind == .string, reply.bytes.count == 40 else {
        throw .protocolViolation(reason: "the answer to SCRIPT LOAD has an unknown form")
      }
      scriptDigest = reply.string
    } else if !reply.isEqual(to: "OK") {
      throw .protocolViolation(reason: "the handshake has an unknown answer")
    }
  }

  private func handle(error: String, _ step: Step) throws(RedisSharedStateError) {
    let operation =
      switch step {
      case .authenticate: "AUTH"
      case .select: "SELECT"
      case .name: "CLIENT SETNAME"
      case .role: "ROLE"
      case .script: "SCRIPT LOAD"
      }
    let error = RedisSharedStateError(errorReply: error, operation: operation)
    switch (step, error) {
    case (.authenticate, .serverError(code: "ERR")):
      // The server has no password, or knows no users.
      throw .authenticationFailed
    case (.select, .serverError(code: "ERR")):
      throw .invalidURL(reason: "the server has no database of its number")
    case (.name, .serverError(code: "ERR")), (.role, .serverError(code: "ERR")), (.script, .serverError(code: "ERR")),
      (.name, .permissionDenied), (.role, .permissionDenied), (.script, .permissionDenied):
      // All of these can be done without.
      break
    default:
      throw error
    }
  }
}
