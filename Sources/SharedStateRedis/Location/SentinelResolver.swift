import SharedStateDependencies
import Synchronization

/// Finds a primary by asking Sentinels, and learns from one of them when another server takes over.
///
/// Asking is not enough. A primary that was paused, or cut off, still acts as a primary for about ten seconds after it
/// is back, and one that is replaced on purpose accepts commits a second after the switch. So a third connection
/// listens to the Sentinel that answered last.
final class SentinelResolver: EndpointResolver {
  /// How long the resolver, and its thread, wait for what.
  struct Timing: Sendable {
    let connectTimeout: Duration
    let requestTimeout: Duration
    let keepAlive: Duration
    let backoff: RedisConfiguration.Backoff
  }

  private struct State {
    /// The one that answered last is the first.
    var sentinels: [RedisEndpoint]
    /// What was found last.
    var primary: RedisEndpoint?
    /// What was found last, until there is a connection to it. A Sentinel that keeps naming it may be out of date.
    var unconfirmed: RedisEndpoint?
    /// What a Sentinel has announced to be replaced, until other Sentinels know it as well.
    var replaced: (endpoint: RedisEndpoint, until: Instant)?
    var callback: (@Sendable (ServerEvent) -> Void)?
    var hasWatch = false
    /// Whether a Sentinel has refused to announce anything, and none has agreed since.
    var isUnannounced = false
    var isClosed = false

    func isReplaced(_ endpoint: RedisEndpoint, now: Instant) -> Bool {
      guard let replaced else { return false }
      return replaced.endpoint == endpoint && now < replaced.until
    }
  }

  let sentinels: RedisLocation.Sentinels
  let dialer: any Dialer
  private let access: RedisAccess
  let timing: Timing
  /// Wakes the thread that listens.
  let waker = Waker()
  private let state: Mutex<State>

  /// Sentinels inform each other of a switch every two seconds.
  private static let disagreement = Duration.seconds(10)

  /// - Parameter access: With ``RedisAccess/readOnly`` the resolver finds a replica, if there is one.
  init(_ sentinels: RedisLocation.Sentinels, _ dialer: any Dialer, _ access: RedisAccess, _ timing: Timing) {
    (self.sentinels, self.dialer, self.access, self.timing) = (sentinels, dialer, access, timing)
    state = Mutex(State(sentinels: sentinels.endpoints))
  }

  func onServerEvent(_ callback: @escaping @Sendable (ServerEvent) -> Void) {
    state.withLock { $0.callback = callback }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    waker.wake()
  }

  var isClosed: Bool { state.withLock(\.isClosed) }

  func isCurrent(_ endpoint: RedisEndpoint) -> Bool { state.withLock { !$0.isReplaced(endpoint, now: .now) } }

  func connected(to endpoint: RedisEndpoint) { state.withLock { $0.unconfirmed = nil } }

  // MARK: Asking

  func resolve(until deadline: inout Instant) throws(RedisSharedStateError) -> RedisEndpoint {
    try startWatch()
    let (primary, offered) = try lookUp(until: &deadline)
    let isReplaced = state.withLock { state in
      // A switch may have been announced while a Sentinel that did not know of it was asked.
      let isReplaced = state.isReplaced(primary, now: Instant.now)
      if !isReplaced { state.primary = primary }
      return isReplaced
    }
    guard !isReplaced else { throw Self.outdated }
    return offered
  }

  /// Asks one Sentinel after the other, until one knows the primary. Returns that, and the server to connect to.
  private func lookUp(
    until deadline: inout Instant
  ) throws(RedisSharedStateError) -> (primary: RedisEndpoint, offered: RedisEndpoint) {
    let (endpoints, now) = (state.withLock(\.sentinels), Instant.now)
    var (failure, unknowing) = (RedisSharedStateError?.none, 0)
    for (index, sentinel) in endpoints.enumerated() {
      do throws(RedisSharedStateError) {
        let (connection, end) = try deadline.share(of: endpoints.count - index) { (end) throws(RedisSharedStateError) in
          try connect(to: sentinel, until: &end)
        }
        guard let primary = try ask(connection, until: end) else {
          unknowing += 1
          continue
        }
        guard !state.withLock({ $0.isReplaced(primary, now: now) }) else {
          failure = failure ?? Self.outdated
          continue
        }
        let replica = access == .readOnly ? try replicas(connection, until: end).randomElement() : nil
        let hasFailed = state.withLock { state in
          defer { state.unconfirmed = primary }
          return state.unconfirmed == primary
        }
        // After a failure to connect, it is asked last: the others may have newer information.
        if hasFailed { avoid(sentinel) } else { prefer(sentinel) }
        return (primary, replica ?? primary)
      } catch {
        // An error that a person has to fix says more than that a Sentinel is down.
        if failure?.isPermanent != true { failure = error }
      }
    }
    if let failure, failure.isPermanent { throw failure }
    // One that was just restarted may not know it yet.
    guard unknowing * 2 <= endpoints.count else {
      throw .invalidURL(reason: "the Sentinels know no primary '\(RedisName.printable(sentinels.primary))'")
    }
    throw failure ?? Self.outdated
  }

  func connect(
    to sentinel: RedisEndpoint,
    until deadline: inout Instant
  ) throws(RedisSharedStateError) -> CommandConnection {
    do throws(RedisSharedStateError) {
      return try CommandConnection(to: sentinel, dialer, as: sentinels.credentials, until: &deadline)
    } catch {
      throw Self.named(error, sentinel)
    }
  }

  /// Asks a Sentinel where the primary is; `nil`: it does not know the name.
  func ask(_ sentinel: CommandConnection, until deadline: Instant) throws(RedisSharedStateError) -> RedisEndpoint? {
    let command = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinels.primary]
    return try sentinel.ask(command, bound: .address, until: deadline) { (reply) throws(RedisSharedStateError) in
      switch reply.kind {
      case .null: return nil
      case .array where reply.count == 2:
        guard let port = UInt16(reply[1].string) else { throw HiredisConnection.unknownReply(command[0]) }
        return try RedisEndpoint(host: reply[0].string, port: port)
      case .error: throw Self.refusal(RedisSharedStateError(errorReply: reply.string, operation: command[0]))
      default: throw HiredisConnection.unknownReply(command[0])
      }
    }
  }

  /// Asks a Sentinel which replicas are up, and in step with the primary. A former primary that does not know that it
  /// was replaced is not among them.
  private func replicas(
    _ sentinel: CommandConnection,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> [RedisEndpoint] {
    let command = ["SENTINEL", "REPLICAS", sentinels.primary]
    return try sentinel.ask(command, bound: .replicas, until: deadline) { (reply) throws(RedisSharedStateError) in
      guard reply.kind == .array else {
        guard reply.kind == .error else { throw HiredisConnection.unknownReply(command[0]) }
        throw Self.refusal(RedisSharedStateError(errorReply: reply.string, operation: "SENTINEL REPLICAS"))
      }
      return (0..<reply.count).compactMap { Self.replica(reply[$0]) }
    }
  }

  /// - Parameter reply: Names and values in turn.
  private static func replica(_ reply: RedisReplyView) -> RedisEndpoint? {
    guard reply.kind == .array else { return nil }
    var facts: [String: String] = [:]
    for index in stride(from: 0, to: reply.count - 1, by: 2) { facts[reply[index].string] = reply[index + 1].string }
    // Any further flag says that it is down.
    guard facts["flags"] == "slave", facts["role-reported"] == "slave", facts["master-link-status"] == "ok",
      let host = facts["ip"], let port = facts["port"].flatMap({ UInt16($0) })
    else { return nil }
    return try? RedisEndpoint(host: host, port: port)
  }

  // MARK: Listening

  /// The Sentinel to listen to.
  var preferred: RedisEndpoint? { state.withLock(\.sentinels.first) }

  /// A Sentinel has answered, so it is asked first from now on.
  func prefer(_ sentinel: RedisEndpoint) {
    state.withLock { state in
      state.sentinels.removeAll { $0 == sentinel }
      state.sentinels.insert(sentinel, at: 0)
    }
  }

  /// The Sentinel that was listened to does not answer.
  func avoid(_ sentinel: RedisEndpoint) {
    state.withLock { state in
      state.sentinels.removeAll { $0 == sentinel }
      state.sentinels.append(sentinel)
    }
  }

  /// A Sentinel will announce when another server takes over.
  func willAnnounce(_ sentinel: RedisEndpoint) {
    prefer(sentinel)
    state.withLock { $0.isUnannounced = false }
  }

  /// A Sentinel refuses to announce anything.
  func refusesToAnnounce(_ sentinel: RedisEndpoint, _ error: RedisSharedStateError) {
    let callback = state.withLock { state in
      defer { state.isUnannounced = true }
      return state.isUnannounced ? nil : state.callback
    }
    callback?(.unannounced(sentinel: "\(sentinel)", error))
  }

  /// A Sentinel has announced a new primary, or most of them name one.
  func announced(_ primary: RedisEndpoint) {
    let callback = state.withLock { state -> (@Sendable (ServerEvent) -> Void)? in
      if state.replaced?.endpoint == primary { state.replaced = nil }
      guard let former = state.primary, former != primary else { return nil }
      state.replaced = (former, .now + Self.disagreement)
      state.primary = nil
      return state.callback
    }
    callback?(.moved)
  }

  /// After a gap, in which an announcement may have been missed. One Sentinel may be out of date, so most of those that
  /// answer have to name another primary.
  func compare(until deadline: Instant) {
    var deadline = deadline
    let (present, endpoints) = state.withLock { ($0.primary, $0.sentinels) }
    guard let present else { return }
    var named: [RedisEndpoint] = []
    for (index, sentinel) in endpoints.enumerated() {
      let answer = try? deadline.share(of: endpoints.count - index) { (end) throws(RedisSharedStateError) in
        try ask(try connect(to: sentinel, until: &end), until: end)
      }
      if let primary = answer?.result { named.append(primary) }
    }
    guard let other = named.first(where: { $0 != present }),
      named.count(where: { $0 == other }) > named.count(where: { $0 == present })
    else { return }
    announced(other)
  }

  private func startWatch() throws(RedisSharedStateError) {
    let isFirst = state.withLock { state in
      defer { state.hasWatch = true }
      return !state.hasWatch && !state.isClosed
    }
    guard isFirst else { return }
    let watch = SentinelWatch(self)
    do throws(ThreadStarter.Refusal) {
      try ThreadStarter.system.start("redis-sentinel") { watch.run() }
    } catch {
      state.withLock { $0.hasWatch = false }
      throw .outOfThreads(reason: error.reason)
    }
  }

  // MARK: Errors

  private static let outdated = RedisSharedStateError.unreachable(
    reason: "the Sentinels do not know yet which server has taken over"
  )

  private static func refusal(_ error: RedisSharedStateError) -> RedisSharedStateError {
    switch error.cause {
    case .authenticationFailed: RedisSharedStateError(.sentinelAuthenticationFailed)
    case .serverError(code: "ERR"): .invalidURL(reason: "the server that it names as a Sentinel is not one")
    default: error
    }
  }

  private static func named(_ error: RedisSharedStateError, _ sentinel: RedisEndpoint) -> RedisSharedStateError {
    switch error.cause {
    case .unreachable(let reason): .unreachable(reason: "\(reason), at the Sentinel \(sentinel)")
    default: refusal(error)
    }
  }
}
