import Foundation
import SharedState

/// The whole state of an ``InProcessRedis``: keys, clock, connections and faults.
///
/// A pure value: its methods decide, and note which wakers to wake. The shell around it locks and wakes.
package struct InProcessServer: Sendable {
  package var keyspace = Keyspace()
  package var faults = ServerFaults()
  private(set) var now = ServerTime(microseconds: 0)
  private var clockOffset: Int64 = 0
  private var clients: [Int: ServerClient] = [:]
  /// Different after every restart.
  private var runID = 1
  /// Different after every restart and promotion.
  private(set) var era = Era(1)
  /// Different after every restart, promotion and backup.
  private var replicationID = ReplicationID(1)
  /// How many keys were evicted since the last restart.
  private var evictions: UInt64 = 0
  private var lastClient = 0
  /// The wakers of clients that wait for a paused server to accept them.
  private var callers: [ObjectIdentifier: Waker] = [:]
  /// The wakers to wake after the current step, each once.
  private var wakers: [ObjectIdentifier: Waker] = [:]

  // MARK: The shell

  /// Sets the clock from the time of the machine.
  mutating func tick(_ system: ServerTime) {
    now.microseconds = system.microseconds &+ clockOffset
    keyspace.sweep(at: now)
  }

  /// Ends a turn of the server's loop: sends invalidations of touched keys to the clients that track them. Returns the
  /// wakers to wake.
  mutating func endTurn() -> [Waker] {
    let touched = keyspace.takeTouched()
    for id in clients.keys.sorted() { invalidate(touched, for: id) }
    defer { wakers = [:] }
    return Array(wakers.values)
  }

  /// Deletes every key, as FLUSHALL does.
  mutating func flushAll() {
    keyspace = Keyspace()
    for id in clients.keys.sorted() where clients[id]?.tracking != nil {
      clients[id]?.tracking?.read = []
      invalidate(nil, for: id)
    }
  }

  /// Invalidates the touched keys that a client tracks.
  private mutating func invalidate(_ touched: Set<Name>, for id: Int) {
    guard !touched.isEmpty, let keys = clients[id]?.tracking?.take(touched), !keys.isEmpty else { return }
    invalidate(keys, for: id)
  }

  private mutating func invalidate(_ keys: [String]?, for id: Int) {
    // A redirected invalidation only reaches a client that is subscribed to a channel.
    guard let redirect = clients[id]?.tracking?.redirect, let recipient = clients[redirect],
      !recipient.channels.isEmpty
    else { return }
    clients[redirect]?.invalidate(keys)
    wake(recipient.waker)
  }

  /// The facts that a client learns about the server when it connects.
  func facts(for id: Int) -> ServerFacts {
    // A server reveals the rest in INFO.
    if faults.refusesInfo { return ServerFacts(clientID: Int64(id)) }
    let clock = UInt64(clamping: now.microseconds)
    return ServerFacts(clientID: Int64(id), runID: String(runID), vitals: vitals, clock: clock)
  }

  /// The server's answer to INFO; `nil`: clients may not ask for it.
  private var vitals: Vitals? {
    faults.refusesInfo ? nil : Vitals(era: era, replicationID: replicationID, evictions: evictions)
  }

  /// Evicts a key, as a server that is short of memory does.
  package mutating func evict(_ key: String) {
    if keyspace.remove(key, at: now) { evictions += 1 }
  }

  /// Becomes a primary again, which begins another reign.
  package mutating func promote() {
    guard faults.isReplica else { return }
    faults.isReplica = false
    beginReign()
  }

  /// Gives its history another name, as a server does for a backup, and for its first replica.
  package mutating func backUp() {
    replicationID = replicationID.next
  }

  private mutating func beginReign() {
    era = era.next
    replicationID = replicationID.next
  }

  /// The time until the next key may expire.
  var untilNextExpiry: Duration? {
    keyspace.nextExpiry.map { .milliseconds(max(0, $0 - now.milliseconds) + 1) }
  }

  // MARK: Connections

  /// Returns the number of the new connection, or `nil` while the server is paused; the waker is then woken on resume.
  mutating func connect(
    name: String,
    purpose: ConnectionPurpose,
    access: RedisAccess = .readWrite,
    waker: Waker
  ) throws(RedisSharedStateError) -> Int? {
    if let error = faults.connectionError { throw error }
    if faults.isReplica, purpose == .writer, access == .readWrite { throw .notPrimary }
    guard !faults.isPaused else {
      callers[ObjectIdentifier(waker)] = waker
      return nil
    }
    lastClient += 1
    clients[lastClient] = ServerClient(name: name, purpose: purpose, access: access, waker: waker)
    return lastClient
  }

  mutating func stopConnecting(_ waker: Waker) {
    callers[ObjectIdentifier(waker)] = nil
  }

  mutating func send(_ requests: [RedisRequest], from id: Int) throws(RedisSharedStateError) {
    guard clients[id]?.isAbandoned == false else { throw .disconnected(reason: "it was closed") }
    if let failure = clients[id]?.failure { throw failure }
    clients[id]?.requests += requests
    if !faults.isPaused { executeRequests(of: id) }
  }

  func hasOutput(for id: Int) -> Bool {
    guard let client = clients[id] else { return true }
    return client.hasOutput && !faults.withholdsOutput(of: client)
  }

  mutating func takeOutput(for id: Int) throws(RedisSharedStateError) -> [RedisEvent] {
    guard let client = clients[id] else { throw .disconnected(reason: "it was closed") }
    guard !faults.withholdsOutput(of: client) else { return [] }
    return try clients[id]?.takeOutput() ?? []
  }

  /// Forgets a connection. Requests that it has sent to a paused server are still carried out on resume, because a real
  /// server's socket would keep them.
  mutating func close(_ id: Int) {
    if clients[id]?.requests.isEmpty == false {
      clients[id]?.isAbandoned = true
      clients[id]?.channels = []
    } else {
      clients[id] = nil
    }
  }

  package mutating func cut(_ reason: String, where isMeant: (ServerClient) -> Bool = { _ in true }) {
    for (id, client) in clients where client.isConnected && isMeant(client) {
      clients[id]?.cut(reason)
      wake(client.waker)
    }
  }

  var connectedClients: [ServerClient] {
    clients.filter(\.value.isConnected).sorted { $0.key < $1.key }.map(\.value)
  }

  package mutating func resume() {
    guard faults.isPaused else { return }
    faults.isPaused = false
    for id in clients.keys.sorted() { executeRequests(of: id) }
    for caller in callers.values { wake(caller) }
    for client in clients.values where client.hasOutput { wake(client.waker) }
    callers = [:]
  }

  package mutating func releaseReplies() {
    faults.holdsReplies = false
    for client in clients.values where client.hasOutput { wake(client.waker) }
  }

  // MARK: Clock and data

  package mutating func advanceClock(by microseconds: Int64) {
    let system = ServerTime(microseconds: now.microseconds &- clockOffset)
    clockOffset &+= microseconds
    // Keys that expire because of this are reported immediately.
    tick(system)
  }

  /// Restarts the server with these keys.
  package mutating func restart(with keyspace: Keyspace) {
    cut("the server was restarted")
    clients = clients.filter { !$0.value.isAbandoned }
    self.keyspace = keyspace
    runID += 1
    beginReign()
    evictions = 0
    faults.heldMessages = []
  }

  // MARK: Messages

  /// Sends a message to all subscribers, and returns how many there are.
  @discardableResult
  mutating func publish(_ payload: Data, on channel: String) -> Int {
    let name = Name(channel)
    let recipients = clients.keys.filter { clients[$0]?.channels.contains(name) == true }
    guard !recipients.isEmpty else { return 0 }
    let message = InProcessRedis.Message(name, payload: payload)
    for _ in 0..<faults.copiesOfNextMessage() {
      if faults.holdsMessages {
        faults.heldMessages.append(.init(message: message, recipients: recipients))
      } else {
        deliver(message, to: recipients)
      }
    }
    return recipients.count
  }

  package mutating func releaseHeldMessage(at index: Int) {
    let held = faults.heldMessages.remove(at: index)
    deliver(held.message, to: held.recipients)
  }

  private mutating func deliver(_ message: InProcessRedis.Message, to recipients: [Int]) {
    for id in recipients where clients[id]?.channels.contains(message.name) == true {
      clients[id]?.push(channel: message.channel, payload: message.payload)
      if let waker = clients[id]?.waker { wake(waker) }
    }
  }

  private mutating func wake(_ waker: Waker) {
    wakers[ObjectIdentifier(waker)] = waker
  }

  // MARK: Requests

  private mutating func executeRequests(of id: Int) {
    guard let requests = clients[id]?.requests, !requests.isEmpty else { return }
    clients[id]?.requests = []
    for request in requests {
      guard clients[id]?.failure == nil, let reply = reply(to: request.command, of: id) else { break }
      clients[id]?.reply(to: request.id, reply)
    }
    if clients[id]?.isAbandoned == true { clients[id] = nil }
  }

  /// `nil` when the connection broke instead.
  private mutating func reply(to command: RedisRequest.Command, of id: Int) -> RedisReply? {
    let isSubscribed = clients[id]?.channels.isEmpty == false
    switch command {
    case .ping:
      return .pong
    case .role:
      return faults.isReplica && clients[id]?.access == .readWrite ? .failure(.notPrimary) : .pong
    case .vitals:
      return vitals.map { .vitals($0) } ?? .failure(.permissionDenied(operation: "INFO"))
    case .secret(let key, let candidate):
      guard faults.permits(key: key) else { return .failure(Self.denied("GET", .key)) }
      if let candidate, !faults.isReplica { keyspace.provide(candidate, at: key, now) }
      return .secret(keyspace.secret(at: key, now))
    case .track(let redirect, let prefix):
      if faults.refusesTracking { return .failure(.permissionDenied(operation: "CLIENT TRACKING")) }
      clients[id]?.tracking = ServerClient.Tracking(redirect: Int(redirect), prefix: prefix.map { Name($0) })
      return .tracking
    case .wait(let wait):
      return reply(to: wait)
    case .subscribe(let channels) where !channels.allSatisfy(faults.permits(channel:)):
      let error = Self.denied("SUBSCRIBE", .channel)
      return .failure(error.concerning(nil, channels.count == 1 ? channels : []))
    case .subscribe(let channels):
      if clients[id]?.isAbandoned == false { clients[id]?.channels.formUnion(channels.map { Name($0) }) }
      return .subscribed
    case .unsubscribe(let channels):
      clients[id]?.channels.subtract(channels.map { Name($0) })
      return .unsubscribed
    case .summarize where isSubscribed, .trackAgain where isSubscribed, .read where isSubscribed,
      .base where isSubscribed,
      .commit where isSubscribed,
      .restore where isSubscribed, .secret where isSubscribed:
      // Under RESP2 a subscribed connection may do nothing but subscribe, unsubscribe and ping.
      return .failure(.serverError(code: "ERR"))
    case .read(let names) where !names.allSatisfy { faults.permits(key: $0.value) && faults.permits(key: $0.meta) }:
      return .failure(Self.denied("MGET", .key).concerning(names, \.readKeys))
    case .summarize(let names, _) where !names.allSatisfy { faults.permits(key: $0.value) }:
      return .failure(Self.denied("STRLEN", .key).concerning(names, \.valueKeys))
    case .summarize(let names, _) where !names.allSatisfy { faults.permits(key: $0.meta) }:
      return .failure(Self.denied("MGET", .key).concerning(names, \.metaKeys))
    case .summarize(let names, let listeners):
      track(names, by: id)
      return .summaries(
        names.map {
          StoredSummary(of: keyspace.stored($0, at: now), listeners: listeners ? countOfListeners(to: $0) : nil)
        }
      )
    case .trackAgain(let names):
      track(names, by: id)
      return .existing(names.count { keyspace.value($0.value, at: now) != nil })
    case .read(let names):
      return .values(names.map { keyspace.stored($0, at: now) })
    case .document(let names, let maximumBytes):
      guard faults.permits(key: names.value) else { return .failure(Self.denied("GETRANGE", .key)) }
      track([names], by: id)
      return .document(KeptBase.content(keyspace.string(names.value, at: now), maximumBytes: maximumBytes))
    case .base(let key, let maximumBytes):
      guard faults.permits(key: key) else { return .failure(Self.denied("GETRANGE", .key)) }
      return .document(KeptBase.content(keyspace.string(key, at: now), maximumBytes: maximumBytes))
    case .commit(let commit):
      if !faults.isReplica, faults.writeError == nil {
        for kept in commit.kept where faults.permits(key: kept.key) { keyspace.keep(kept, at: now) }
      }
      return run(of: id, on: commit.names) { $0.commit(commit, at: $1) }
    case .restore(let restore):
      return run(of: id, on: restore.names) { $0.restore(restore, at: $1) }
    }
  }

  private mutating func reply(to wait: ReplicaWait) -> RedisReply {
    if faults.isReplica { return .failure(.notPrimary) }
    if let mark = wait.mark {
      guard faults.permits(key: mark) else { return .failure(Self.denied("SET", .key)) }
      if let error = faults.writeError { return .failure(error) }
      keyspace.set(mark, .string(Data()), expiry: now.milliseconds + 1)
    }
    let count = faults.replicas ?? wait.replicas.count
    return .replicas(count < wait.replicas.count ? .acknowledged(count) : nil)
  }

  private static func denied(_ operation: String, _ kind: DeniedSubject.Kind) -> RedisSharedStateError {
    RedisSharedStateError(.permissionDenied(operation: operation, subject: DeniedSubject(kind)))
  }

  private mutating func track(_ names: [KeyNames], by id: Int) {
    if clients[id]?.tracking != nil { clients[id]?.tracking?.read.formUnion(names.map { Name($0.value) }) }
  }

  private func countOfListeners(to names: KeyNames) -> Int {
    let channel = Name(names.channel)
    return clients.values.count { $0.channels.contains(channel) }
  }

  private mutating func run(
    of id: Int,
    on names: KeyNames,
    _ script: (inout Keyspace, ServerTime) -> CommitOutcome
  ) -> RedisReply? {
    guard names.scriptKeys.allSatisfy(faults.permits(key:)) else {
      return .failure(Self.denied("EVALSHA", .key).concerning([names], \.scriptKeys))
    }
    if faults.isReplica { return .failure(.notPrimary) }
    if let error = faults.writeError { return .failure(error) }
    if faults.turnsCommitsDown { return .commit(.conflict(keyspace.reported(names, at: now))) }
    let commitCut = faults.commitCut
    faults.commitCut = nil
    if commitCut == .beforeEffect {
      clients[id]?.cut("it was cut before a commit")
      return nil
    }
    var outcome = script(&keyspace, now)
    // Single keys are reported as soon as they are written, except to the client that has written them.
    for other in clients.keys.sorted() where other != id && clients[other]?.tracking?.prefix == nil {
      invalidate(keyspace.touched, for: other)
    }
    if let announcement = outcome.announcement {
      if faults.permits(channel: names.channel) {
        publish(announcement, on: names.channel)
      } else if case .commit(.committed(let revision, let parent, _)) = outcome.reply {
        let refusal = RedisSharedStateError.permissionDenied(operation: "PUBLISH")
        let shortfall = CommitShortfall(command: "PUBLISH", error: refusal)
        outcome.reply = .commit(.committed(revision: revision, parent: parent, shortfall))
      }
    }
    if commitCut == .afterEffect {
      clients[id]?.cut("it was cut after a commit")
      return nil
    }
    return outcome.reply
  }
}
