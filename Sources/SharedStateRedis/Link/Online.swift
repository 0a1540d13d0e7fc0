extension LinkState {
  /// What a link knows, and has to do, for as long as both of its connections are open.
  struct Online: Sendable {
    /// The facts that the server has reported on each connection.
    let facts: PerConnection<ServerFacts>
    let circumstances: Replica.Circumstances
    /// When the second connection was opened.
    let openedAt: Instant
    var exchanges: PerConnection<Exchange<Request>>
    /// Whether the connections have served their purpose at least once.
    var hasServed = false
    /// How many values the status of the store waits for.
    var behind = 0
    /// Whether the server permits ROLE.
    var asksForRole = true

    var subscriptions = Subscriptions()
    var tracking = Tracking()
    var vitals: ServerVitals
    var secretReads: SecretReads

    var bases = BaseReads()
    var reads = Reads()
    var checks = Checks()
    var antiEntropy = AntiEntropy()
    var commits = Commits()
    var agenda = Agenda()
    var probes = Probes()
    /// When a caller last sent a commit itself.
    var calledAt: Instant?

    /// - Parameters:
    ///   - vitals: As the server has reported them.
    ///   - exchange: For each connection.
    init(
      _ facts: PerConnection<ServerFacts>,
      _ circumstances: Replica.Circumstances,
      _ vitals: Vitals,
      _ exchange: Exchange<Request>,
      now: Instant
    ) {
      (self.facts, self.circumstances, openedAt) = (facts, circumstances, now)
      exchanges = PerConnection { _ in exchange }
      self.vitals = ServerVitals(vitals, clock: facts[.writer].clock, now: now)
      secretReads = SecretReads(now: now)
    }

    /// Whether any request has no answer.
    var hasUnanswered: Bool { exchanges.values.contains { $0.count > 0 } }

    /// When to act next, whatever arrives.
    var next: Instant? {
      let hasChecks = reads.count(.check, .comparison) > 0
      let check = checks.next(hasChecks: hasChecks, hasOwnChecks: reads.count(.ownCheck) > 0)
      return [secretReads.next, agenda.next, check, antiEntropy.next, tracking.silentAt].compactMap(\.self).min()
    }
  }

  /// What a link knows of one replica, and has to do for it, for as long as both connections are open.
  struct OnlineMember: Sendable {
    var reading: ReadState
    /// Whether the status of the store waits for it.
    var isBehind = false
    var isCommitQueued = false
    /// The expected size of the document that is being encoded, in bytes; `nil` if none is.
    var encodingSize: Int?
    var repairs = RecentRepairs()
  }
}
