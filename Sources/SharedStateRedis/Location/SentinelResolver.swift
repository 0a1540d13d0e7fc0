import SharedStateDependencies
import Synchronization

/// Finds a primary by asking Sentinels, and learns from one of them when another server takes over.
///
/// Asking is not enough. A primary that was paused, or cut off, still acts as a primary for about ten seconds after it
/// is back, and one that is replaced on purpose accepts commits a second after the switch. So a third connection
/// listens to a Sentinel that has named the primary.
final class SentinelResolver: EndpointResolver {
  /// How long the resolver, and its thread, wait for what.
  struct Timing: Sendable {
    let connectTimeout: Duration
    let requestTimeout: Duration
    let keepAlive: Duration
    let backoff: RedisConfiguration.Backoff
  }

  private struct State {
    /// In the order in which they are asked. The first one is listened to.
    var sentinels: [RedisEndpoint]
    var choice = PrimaryChoice()
    var callback: (@Sendable (ServerEvent) -> Void)?
    var hasListener = false
    /// Whether a Sentinel has refused to announce anything, and none has agreed since.
    var isUnannounced = false
    var isClosed = false

    /// Those that have named the chosen server come first. One that is out of date would announce nothing.
    mutating func preferAgreeing(_ answers: [PrimaryChoice.Answer]) {
      let agreeing = answers.filter { $0.primary == choice.chosen?.primary }.map(\.sentinel)
      sentinels = sentinels.filter { agreeing.contains($0) } + sentinels.filter { !agreeing.contains($0) }
    }
  }

  /// The answers of the Sentinels that were asked.
  private struct Poll {
    var answers: [PrimaryChoice.Answer] = []
    /// How many do not know the name of the primary.
    var unknowing = 0
    var failure: RedisSharedStateError?
  }

  let sentinels: RedisLocation.Sentinels
  let dialer: any Dialer
  private let access: RedisAccess
  private let credentials: Credentials
  let timing: Timing
  /// Wakes the thread that listens.
  let waker = Waker()
  private let state: Mutex<State>

  /// - Parameters:
  ///   - access: With ``RedisAccess/readOnly`` the resolver finds a replica, if there is one.
  ///   - credentials: Of the servers.
  init(
    _ sentinels: RedisLocation.Sentinels,
    _ dialer: any Dialer,
    _ access: RedisAccess,
    _ timing: Timing,
    _ credentials: @escaping Credentials
  ) {
    (self.sentinels, self.dialer, self.access, self.timing) = (sentinels, dialer, access, timing)
    self.credentials = credentials
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

  func isCurrent(_ endpoint: RedisEndpoint) -> Bool {
    state.withLock { !$0.choice.isReplaced(endpoint, now: .now) }
  }

  func tried(_ endpoint: RedisEndpoint, _ failure: RedisSharedStateError?) {
    state.withLock { $0.choice.tried(endpoint, failure) }
  }

  // MARK: Asking

  func resolve(until deadline: inout Instant) throws(RedisSharedStateError) -> RedisEndpoint {
    try startListener()
    let poll = poll(until: &deadline)
    // A switch may have been announced while a Sentinel that did not know of it was asked.
    let (choice, isOtherFirst) = state.withLock { state in
      let (choice, first) = (state.choice.choose(from: poll.answers, now: .now), state.sentinels.first)
      state.preferAgreeing(poll.answers)
      return (choice, state.sentinels.first != first)
    }
    if isOtherFirst { waker.wake() }
    if let choice { return choice.answers.flatMap(\.replicas).randomElement() ?? choice.primary }
    if let failure = poll.failure, failure.isPermanent { throw failure }
    // One that was just restarted may not know it yet.
    guard poll.unknowing * 2 <= sentinels.endpoints.count else {
      throw .invalidURL(reason: "the Sentinels know no primary '\(RedisName.printable(sentinels.primary))'")
    }
    guard let failure = poll.failure, poll.answers.isEmpty else { throw Self.outdated }
    throw failure
  }

  /// Asks one Sentinel after the other, until most of them agree.
  private func poll(until deadline: inout Instant) -> Poll {
    let endpoints = state.withLock(\.sentinels)
    var poll = Poll()
    for (index, sentinel) in endpoints.enumerated() {
      do throws(RedisSharedStateError) {
        let answer = try deadline.share(of: endpoints.count - index) { (end) throws(RedisSharedStateError) in
          try self.answer(of: sentinel, until: &end)
        }.result
        guard let answer else {
          poll.unknowing += 1
          continue
        }
        poll.answers.append(answer)
        let answers = poll.answers
        if state.withLock({ $0.choice.isCertain(answers, of: endpoints.count, now: .now) }) { break }
      } catch {
        // An error that a person has to fix says more than that a Sentinel is down.
        if poll.failure?.isPermanent != true { poll.failure = error }
      }
    }
    return poll
  }

  /// Asks a Sentinel for the primary; `nil`: it does not know the name.
  private func answer(
    of sentinel: RedisEndpoint,
    until deadline: inout Instant
  ) throws(RedisSharedStateError) -> PrimaryChoice.Answer? {
    let connection = try connect(to: sentinel, until: &deadline)
    // The epoch comes first. A failover between the two questions would otherwise give the former primary its epoch.
    let epoch = try epoch(connection, until: deadline)
    guard let primary = try primary(connection, at: sentinel, until: deadline) else { return nil }
    let replicas = access == .readOnly ? try replicas(connection, until: deadline) : []
    return PrimaryChoice.Answer(sentinel: sentinel, primary: primary, epoch: epoch, replicas: replicas)
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

  /// Asks for the configuration epoch; 0: the Sentinel does not know the name, or its user may not ask.
  private func epoch(_ sentinel: CommandConnection, until deadline: Instant) throws(RedisSharedStateError) -> UInt64 {
    try sentinel.ask(["SENTINEL", "MASTER", sentinels.primary], bound: .instance, until: deadline) { reply in
      Self.fields(reply)["config-epoch"].flatMap { UInt64($0) } ?? 0
    }
  }

  /// Asks for the address. `SENTINEL MASTER` names the former one until all replicas have followed the new one.
  private func primary(
    _ connection: CommandConnection,
    at sentinel: RedisEndpoint,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> RedisEndpoint? {
    let command = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinels.primary]
    return try connection.ask(command, bound: .address, until: deadline) { (reply) throws(RedisSharedStateError) in
      switch reply.kind {
      case .null: return nil
      case .array where reply.count == 2:
        guard let endpoint = Self.endpoint(reply[0].string, reply[1].string) else {
          throw .unreachable(reason: "the Sentinel \(sentinel) names a primary without a usable host or port")
        }
        return endpoint
      case .error:
        let operation = command.dropLast().joined(separator: " ")
        throw Self.refusal(RedisSharedStateError(errorReply: reply.string, operation: operation))
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
    return try sentinel.ask(command, bound: .instances, until: deadline) { (reply) throws(RedisSharedStateError) in
      guard reply.kind == .array else {
        guard reply.kind == .error else { throw HiredisConnection.unknownReply(command[0]) }
        throw Self.refusal(RedisSharedStateError(errorReply: reply.string, operation: "SENTINEL REPLICAS"))
      }
      return (0..<reply.count).compactMap { Self.replica(Self.fields(reply[$0])) }
    }
  }

  private static func replica(_ fields: [String: String]) -> RedisEndpoint? {
    // Any further flag says that it is down.
    guard fields["flags"] == "slave", fields["role-reported"] == "slave", fields["master-link-status"] == "ok" else {
      return nil
    }
    return endpoint(fields["ip"] ?? "", fields["port"] ?? "")
  }

  /// - Parameter reply: Names and values in turn.
  private static func fields(_ reply: RedisReplyView) -> [String: String] {
    var fields: [String: String] = [:]
    for index in stride(from: 0, to: reply.count - 1, by: 2) { fields[reply[index].string] = reply[index + 1].string }
    return fields
  }

  /// `nil`: a Sentinel names a host or a port that cannot be used, such as port 0 of a server that listens with TLS only.
  static func endpoint(_ host: String, _ port: String) -> RedisEndpoint? {
    guard let port = UInt16(port) else { return nil }
    return try? RedisEndpoint(host: host, port: port)
  }

  // MARK: Listening

  /// The Sentinel to listen to.
  var preferred: RedisEndpoint? { state.withLock(\.sentinels.first) }

  /// The Sentinel that was listened to does not answer.
  func avoid(_ sentinel: RedisEndpoint) {
    state.withLock { state in
      state.sentinels.removeAll { $0 == sentinel }
      state.sentinels.append(sentinel)
    }
  }

  /// A Sentinel will announce when another server takes over.
  func willAnnounce() { state.withLock { $0.isUnannounced = false } }

  /// A Sentinel refuses to announce anything.
  func refusesToAnnounce(_ sentinel: RedisEndpoint, _ error: RedisSharedStateError) {
    let callback = state.withLock { state in
      defer { state.isUnannounced = true }
      return state.isUnannounced ? nil : state.callback
    }
    callback?(.unannounced(sentinel: "\(sentinel)", Self.refusal(error)))
  }

  /// A Sentinel has announced a new primary.
  /// - Throws: ``RedisSharedStateError``: that server could not be asked whether it is one.
  func announced(_ primary: RedisEndpoint) throws(RedisSharedStateError) {
    let isOther = state.withLock { $0.choice.chosen.map { $0.primary != primary } ?? false }
    if isOther, try !isPrimary(primary) { return }
    switched(to: primary)
  }

  /// After a gap, in which an announcement may have been missed.
  func compare() {
    guard state.withLock({ $0.choice.chosen != nil }) else { return }
    var deadline = Instant.now + timing.connectTimeout
    let poll = poll(until: &deadline)
    let successors = state.withLock { state in
      state.preferAgreeing(poll.answers)
      return state.choice.successors(in: poll.answers, of: state.sentinels.count, now: .now)
    }
    for successor in successors where (try? isPrimary(successor)) ?? false {
      return switched(to: successor)
    }
  }

  /// Asks a server itself. Where its user may not ask, the Sentinels are right.
  private func isPrimary(_ endpoint: RedisEndpoint) throws(RedisSharedStateError) -> Bool {
    let login = try credentials()
    var deadline = Instant.now + timing.connectTimeout
    let connection = try CommandConnection(to: endpoint, dialer, as: login, until: &deadline)
    return try connection.ask(["ROLE"], bound: .role, until: deadline) { (reply) throws(RedisSharedStateError) in
      guard reply.kind == .error else { return RedisAccess.readWrite.refusal(of: reply) == nil }
      let error = RedisSharedStateError(errorReply: reply.string, operation: "ROLE")
      guard Handshake.isDispensable(error) else { throw error }
      return true
    }
  }

  private func switched(to primary: RedisEndpoint) {
    let callback = state.withLock { $0.choice.switched(to: primary, now: .now) ? $0.callback : nil }
    callback?(.moved)
  }

  private func startListener() throws(RedisSharedStateError) {
    let isFirst = state.withLock { state in
      defer { state.hasListener = true }
      return !state.hasListener && !state.isClosed
    }
    guard isFirst else { return }
    let listener = SentinelListener(self)
    do throws(ThreadStarter.Refusal) {
      try ThreadStarter.system.start("redis-sentinel") { listener.run() }
    } catch {
      state.withLock { $0.hasListener = false }
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
    case .permissionDenied(let operation, _): RedisSharedStateError(.sentinelPermissionDenied(operation: operation))
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
