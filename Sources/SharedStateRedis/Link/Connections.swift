/// The two connections of a link: the requests without an answer, the facts that the servers have reported, and which
/// of the threads sleep.
struct Connections: Sendable {
  typealias Request = LinkState.Request

  private struct Open: Sendable {
    var exchange: Exchange<Request>
    let facts: ServerFacts
  }

  private struct Sleep: Sendable {
    /// Whether the thread sleeps until it is woken, and until when at most; `nil` if it has not slept yet.
    var isWaiting = false
    var until: Instant?
  }

  /// `nil` if it is not open.
  private var ends = PerConnection<Open?> { _ in nil }
  private var sleeps = PerConnection { _ in Sleep() }
  private var keepAlive: KeepAlive
  /// The server that the writer was connected to last.
  private var lastRunID: String?
  /// When the server was last heard from on connections that have ended.
  private(set) var lastHeard: Instant?

  init(keepAlive: Duration) {
    self.keepAlive = KeepAlive(interval: keepAlive)
  }

  /// How long a connection is silent until a PING is sent.
  var keepAliveInterval: Duration { keepAlive.interval }

  // MARK: Opening and closing

  func isOpen(_ purpose: ConnectionPurpose) -> Bool { ends[purpose] != nil }

  /// The facts that the server has reported; `nil` if the connection is not open.
  func facts(of purpose: ConnectionPurpose) -> ServerFacts? { ends[purpose]?.facts }

  /// Whether they lead to different servers.
  var areDivided: Bool { Set(ends.values.compactMap { $0?.facts.runID }).count > 1 }

  mutating func open(_ purpose: ConnectionPurpose, _ facts: ServerFacts, timeout: Duration, now: Instant) {
    if purpose == .writer, let runID = facts.runID {
      if let lastRunID, lastRunID != runID { keepAlive.serverRestarted() }
      lastRunID = runID
    }
    let exchange = Exchange<Request>(openedAt: now, timeout: timeout, keepAlive: keepAlive.interval)
    ends[purpose] = Open(exchange: exchange, facts: facts)
  }

  /// They are about to end, after they have served their purpose.
  mutating func noteEnd() { lastHeard = ends.values.compactMap { $0?.exchange.lastHeard }.min() ?? lastHeard }

  /// The server has closed the writer's connection, or something between has. Returns whether that was because it was
  /// idle, so that a PING has to be sent sooner from now on.
  mutating func learnFromEnd(now: Instant) -> Bool {
    guard let exchange = ends[.writer]?.exchange, exchange.count == 0 else { return false }
    return keepAlive.closed(afterIdle: now - exchange.lastHeard, now: now)
  }

  /// They are gone.
  mutating func disconnect() { ends = PerConnection { _ in nil } }

  // MARK: Requests and answers

  /// Whether any request has no answer.
  var hasUnanswered: Bool { ends.values.contains { $0?.exchange.count ?? 0 > 0 } }

  /// How many requests have no answer.
  func countOfUnanswered(on purpose: ConnectionPurpose) -> Int { ends[purpose]?.exchange.count ?? 0 }

  /// The requests without an answer.
  func unanswered(on purpose: ConnectionPurpose) -> [Request] {
    ends[purpose].map { Array($0.exchange.unanswered) } ?? []
  }

  /// Registers a request that is about to be sent. Returns its number; `nil` if the connection is not open.
  mutating func register(_ request: Request, on purpose: ConnectionPurpose, now: Instant) -> UInt64? {
    ends[purpose]?.exchange.register(request, now: now)
  }

  /// A connection was checked for input; see ``Exchange/looked(hasHeard:now:)``.
  mutating func looked(_ purpose: ConnectionPurpose, hasHeard: Bool, now: Instant) {
    let idle = ends[purpose].map { now - $0.exchange.lastHeard } ?? .zero
    ends[purpose]?.exchange.looked(hasHeard: hasHeard, now: now)
    guard purpose == .writer, hasHeard, keepAlive.answered(afterIdle: idle, now: now) else { return }
    for purpose in ConnectionPurpose.allCases { ends[purpose]?.exchange.keepAlive = keepAlive.interval }
  }

  /// An answer arrived. Returns its request; `nil` if no request has this number.
  mutating func answered(_ id: UInt64, on purpose: ConnectionPurpose) -> Request? {
    ends[purpose]?.exchange.answered(id)
  }

  /// Whether an answer is overdue; `nil` if the connection is not open.
  func isOverdue(_ purpose: ConnectionPurpose, now: Instant) -> Bool? { ends[purpose]?.exchange.isOverdue(now: now) }

  func needsPing(_ purpose: ConnectionPurpose, now: Instant) -> Bool {
    ends[purpose]?.exchange.needsPing(now: now) ?? false
  }

  /// When an answer may be overdue or a PING due; `nil` if the connection is not open.
  func nextDeadline(of purpose: ConnectionPurpose) -> Instant? { ends[purpose]?.exchange.nextDeadline }

  // MARK: Threads

  /// A thread begins to wait. From now on a change has to wake it.
  mutating func wait(_ purpose: ConnectionPurpose, until deadline: Instant) {
    sleeps[purpose] = Sleep(isWaiting: true, until: deadline)
  }

  /// A thread has ended its wait, or is being woken. Returns whether it was waiting.
  mutating func endWait(_ purpose: ConnectionPurpose) -> Bool {
    defer { sleeps[purpose].isWaiting = false }
    return sleeps[purpose].isWaiting
  }

  /// Whether the writer's role looks at the deadlines at this moment or earlier.
  func looks(by deadline: Instant) -> Bool { sleeps[.writer].until.map { $0 <= deadline } ?? false }
}
