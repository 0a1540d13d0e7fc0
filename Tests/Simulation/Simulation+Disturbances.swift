import Foundation
import SharedState
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting

/// Failures, and actions of other programs.
extension Simulation {
  func disturb() {
    let disturbance = any(habits.disturbances)
    note("DISTURB \(disturbance.map { "\($0)" } ?? "recover")")
    if let former = other?.number, disturbance?.happensAnywhere ?? false, chance(2) {
      visit(former) { perform(disturbance) }
    } else {
      perform(disturbance)
    }
  }

  private func perform(_ disturbance: SimulatedHabits.Disturbance?) {
    switch disturbance {
    case .cut:
      if let connection = any(connections) { cut(connection) }
    case .loseReplies:
      guard let connection = any(connections.filter { !$0.outbox.isEmpty && !$0.isBroken && !$0.isStalled }) else {
        return
      }
      while !connection.outbox.isEmpty, !connection.isBroken { reach(connection) }
      connection.inbox = []
      cut(connection)
    case .breakAtCommit:
      any(connections.filter { $0.purpose == .writer && !$0.isBroken })?.breaksAtCommit = true
    case .poison:
      poison = poison == nil ? any(names) : nil
    case .stall:
      any(connections)?.isStalled = true
    case .refuseConnections:
      server.faults.connectionError = server.faults.connectionError == nil ? .unreachable(reason: "simulated") : nil
    case .refuseWrites:
      server.faults.writeError = server.faults.writeError == nil ? .serverError(code: "OOM") : nil
      recorder.record(.refused)
    case .refuseTracking:
      server.faults.refusesTracking.toggle()
      hasUnnotifiedChange = true
    case .demote:
      recorder.record(.refused)
      if server.faults.isReplica { promote() } else { server.faults.isReplica = true }
    case .backUp: server.backUp()
    case .announceMove:
      // Late, early, or wrong: the server may have been replaced long ago, or not at all.
      if let service = any(services) { announceMove(to: service) }
    case .recover, nil:
      recover()
    case .dropMessage:
      hasUnnotifiedChange = true
      disturbMessage { inbox, index, _ in inbox.remove(at: index) }
    case .duplicateMessage: disturbMessage { inbox, index, _ in inbox.append(inbox[index]) }
    case .reorderMessages: disturbMessage { inbox, index, other in inbox.swapAt(index, other) }
    case .forgeMessage:
      if let name = any(names) { forgeMessage(of: name) }
    case .replayMessage: replayMessage()
    case .loseSecret: loseSecret()
    case .forgeMeta:
      if let name = any(names) { forgeMeta(of: name) }
    case .forbid:
      forbid()
    case .permit:
      permit()
    case .outsider:
      if let name = any(names) { commitFromOutside(makeDocument(), to: name) }
    case .unreadable:
      if let name = any(names) { commitFromOutside(SimulatedDocument.unreadable, to: name) }
    case .foreignSet, .foreignDelete, .foreignExpire, .foreignType, .foreignFlush:
      edit()
    case .snapshot:
      snapshot = server.keyspace
    case .failOver:
      restartServer(with: any([snapshot] + recent) ?? snapshot)
    case .loseData:
      restartServer(with: Keyspace())
    case .tear:
      if other == nil { tear() } else if chance(8) { mend() }
    case .evict:
      if let name = any(names) { evict(name) }
    case .restartService:
      if let service = any(services) { restart(service) }
    case .time:
      advance(by: .milliseconds(Int.random(in: 0...500, using: &random)))
    case .longPause:
      advance(by: .seconds(6))
    case .clockJump:
      let jump: Int64 = [-3_600_000_000, -1_000_000, 1_000_000, 3_600_000_000].randomElement(using: &random) ?? 0
      server.advanceClock(by: jump)
      if jump >= Int64(CommitScript.operationLifetimeInSeconds) * 1_000_000 {
        recorder.record(.forgotten)
        // The server has lost the record of expired values as well.
        losses += 1
      }
      advance(by: .zero)
    }
  }

  /// Makes the server a primary again. Another server may have been the primary meanwhile, so this begins a new reign.
  private func promote() {
    guard server.faults.isReplica else { return }
    server.promote()
    // No connection breaks, so services cannot tell yet that a message is of an earlier reign.
    announcements = []
    recorder.record(.replaced)
  }

  func recover() {
    mend()
    promote()
    permit()
    server.faults = ServerFaults()
    poison = nil
  }

  /// The resolver of a service says that another server has taken over.
  func announceMove(to service: SimulatedService) {
    let caller = SimulatedService.Caller([])
    service.update(&caller.tasks) { $0.moved(now: now) }
    service.callers.append(caller)
  }

  /// Evicts some of a value's keys, as if the server needed memory.
  func evict(_ name: KeyNames) {
    let keys = [name.value, name.meta, name.operations].filter { _ in chance(2) }
    if keys.contains(name.value) { recorder.record(.lost) }
    if keys.contains(name.meta) || keys.contains(name.operations) { recorder.record(.forgotten) }
    if keys.contains(name.value) || keys.contains(name.meta) {
      losses += 1
      recorder.record(.evicted(name: name.recorded))
      adoptions[name] = nil
    }
    for key in keys { server.evict(key) }
    server.advanceClock(by: Self.moment)
    if keys.contains(name.meta) {
      // No service tracks the meta.
      hasUnnotifiedChange = true
      // A value that is left without a revision counts as an edit.
      if stored(name).content != .absent { recordEdit(of: name) }
    }
    note("  evicted: \(keys)")
    endTurn()
  }

  // MARK: Time

  func advance(by duration: Duration) {
    now = now + duration
    elapsed += duration
    let system = ServerTime(microseconds: Self.beginning.microseconds + elapsed.wholeMicroseconds)
    server.tick(system)
    other?.server.tick(system)
    endTurn()
  }

  // MARK: Connections

  /// Breaks a connection. Requests on their way to the server are lost or late, and some events on their way back are
  /// lost.
  func cut(_ connection: SimulatedConnection) {
    if connection.isLate { return discard(connection) }
    leaveOutbox(of: connection)
    connection.outbox = []
    connection.inbox = Array(connection.inbox.prefix(Int.random(in: 0...connection.inbox.count, using: &random)))
    connection.isBroken = true
    connection.isStalled = false
    closeUnlessLate(connection)
  }

  private func disturbMessage(_ body: (inout [RedisEvent], _ index: Int, _ other: Int) -> Void) {
    guard let connection = any(connections.filter { !$0.messages.isEmpty }) else { return }
    guard let index = any(connection.messages), let other = any(connection.messages) else { return }
    body(&connection.inbox, index, other)
  }

  func restartServer(with keyspace: Keyspace) {
    mend()
    takeOver(with: keyspace)
    for connection in connections { cut(connection) }
    // The new server never receives the late requests.
    for connection in connections where connection.isLate { discard(connection) }
    advance(by: .zero)
  }

  /// Another server, which has these data, takes the place of the primary.
  func takeOver(with keyspace: Keyspace) {
    recordReplacement()
    server.restart(with: keyspace)
    // Another machine has another clock.
    server.advanceClock(by: [0, 0, -10_000_000, -1_000_000, 1_000_000, 10_000_000].randomElement(using: &random) ?? 0)
    server.keyspace.set(Self.outside, .string(Data()))
  }

  /// Another server, which may lack some data, has taken the place of the one that services have used.
  func recordReplacement() {
    losses += 1
    recorder.record(.replaced)
    recorder.record(.lost)
    adoptions = [:]
  }

  /// A service is killed, and another one starts in its place.
  private func restart(_ service: SimulatedService) {
    for connection in connections where connection.service === service {
      if chance(2), !connection.outbox.isEmpty, !connection.isBroken { reach(connection) }
      close(connection)
    }
    service.letGoOfConnections()
    services.removeAll { $0 === service }
    startService()
  }

  // MARK: Rights

  /// Restricts the services to the first value: sometimes its keys, sometimes its channel, or both.
  private func forbid() {
    recorder.record(.refused)
    hasUnnotifiedChange = true
    server.faults.permittedKeys = chance(3) ? nil : names[0].value
    server.faults.permittedChannels = chance(2) ? nil : names[0].value + "}"
  }

  /// Grants all rights again. A service that was not permitted a write of its own, such as an adoption, finds out at
  /// anti-entropy.
  private func permit() {
    guard server.faults.permittedKeys != nil || server.faults.permittedChannels != nil else { return }
    (server.faults.permittedKeys, server.faults.permittedChannels) = (nil, nil)
  }

  // MARK: Forgeries

  /// Publishes an announcement of a value that was never stored. The forger knows everything except the secret.
  private func forgeMessage(of name: KeyNames) {
    let ahead: UInt64 = any([1, 1_000_000, 3_600_000_000]) ?? 1
    let bound = Revision.largest.rawValue
    let revisions = [UInt64(clamping: server.now.microseconds) + ahead, bound - 1, bound, bound + 1, 1 << 53]
    let isDeletion = chance(3)
    let meta = Meta(
      revision: Revision(any(revisions) ?? bound),
      parent: chance(2) ? .none : stored(name).revision,
      kind: isDeletion ? .deleted : .set,
      writer: "forger@host/1/forger",
      lineage: chance(2) ? stored(name).meta?.lineage : nil
    )
    let content: ChangeMessage.Content = isDeletion ? .deleted : chance(2) ? .reference : .document(makeDocument())
    let secret = chance(2) ? nil : Secret(using: &random)
    publish(ChangeMessage(meta: meta, content: content).payload(on: name.channel, provenBy: secret), on: name.channel)
  }

  /// Publishes a recorded announcement once more: as it was, with another document, or on the channel of another value.
  private func replayMessage() {
    guard var (channel, payload) = any(announcements) else { return }
    switch Int.random(in: 0..<3, using: &random) {
    case 0: break
    case 1: channel = any(names)?.channel ?? channel
    default:
      guard let end = payload.firstIndex(of: UInt8(ascii: "\n")) else { return }
      payload = payload[...end] + makeDocument()
    }
    publish(payload, on: channel)
  }

  private func publish(_ payload: Data, on channel: String) {
    note("  published: \(SimulatedTrace.text(payload)) on \(channel)")
    server.publish(payload, on: channel)
    endTurn()
  }

  /// A client of the namespace deletes the secret, or replaces it. For the services that is the same as losing it.
  private func loseSecret() {
    guard let key = names.first?.secret else { return }
    server.keyspace.remove(key, at: server.now)
    if chance(2) { server.keyspace.provide(Secret(using: &random), at: key, server.now) }
    endTurn()
  }

  /// Replaces the meta of a value with one that has no valid revision.
  private func forgeMeta(of name: KeyNames) {
    guard case .document = stored(name).content else { return }
    let numbers: [UInt64] = [Revision.largest.rawValue + 1, 1 << 53 - 1, 1 << 53, 1 << 53 + 1]
    let text = any(numbers.map { "\($0) 0 s 0 x" } + ["nonsense", "", "-1 0 s 0 x"]) ?? ""
    server.keyspace.set(name.meta, .string(Data(text.utf8)))
    hasUnnotifiedChange = true
    adoptions[name] = nil
    losses += 1
    // Without the revision, the server cannot tell a forgotten operation from one that never arrived.
    recorder.record(.lost)
    recordEdit(of: name)
    note("  forged: the meta of \(name.recorded), \(text)")
    endTurn()
  }

  // MARK: Others

  /// In microseconds. The clock moves this far after a loss, so that a new version gets another revision than the lost
  /// one.
  private static let moment: Int64 = 1_000

  func makeDocument() -> Data {
    var document = SimulatedDocument()
    for field in SimulatedDocument.Field.allCases where chance(2) || field == .first {
      var value = makeValue()
      while value.isMultiple(of: 11) { value = makeValue() }
      document[field] = value
    }
    addCollections(to: &document)
    return document.data
  }

  /// Adds random collections. Sometimes a whole collection is missing.
  private func addCollections(to document: inout SimulatedDocument) {
    document.list =
      chance(8)
      ? nil
      : SimulatedChange.items.filter { _ in chance(3) }.shuffled(using: &random).map { id in
        SimulatedDocument.Item(id: id, n: makeValue(), m: makeValue(), x: chance(3) ? makeValue() : nil)
      }
    document.set = chance(8) ? nil : Set(SimulatedChange.elements.filter { _ in chance(3) })
    let keys = SimulatedChange.keys.filter { _ in chance(2) }
    document.map = chance(8) ? nil : Dictionary(uniqueKeysWithValues: keys.map { ($0, makeValue()) })
    document.sum = chance(8) ? nil : MergingCounter(Int.random(in: 0...9, using: &random))
  }

  /// Writes as another program that knows revisions.
  func commitFromOutside(_ document: Data, to name: KeyNames) {
    let before = stored(name)
    let operation = Operation(writer: "outsider", number: nextOutsideOperation)
    let commit = Commit(
      names: name,
      content: .document(document, isLarge: document.count > SimulatedDocument.inlineLimit),
      condition: .unconditional,
      floor: .none,
      operation: operation,
      writer: "outsider@host/1/outsider",
      lineage: Lineage.Draft(
        continuing: before.meta?.lineage,
        era: server.era,
        opening: LineID(openedBy: operation, in: server.era)
      ),
      secret: Secret(using: &random)
    )
    nextOutsideOperation += 1
    keepRecent()
    let outcome = server.keyspace.commit(commit, at: server.now)
    // If the key has another type, nothing has changed, and nothing is announced.
    guard let announcement = outcome.announcement else { return }
    server.publish(announcement, on: name.channel)
    let written = RedisHistory.Commit(
      of: nil,
      to: name.recorded,
      cause: .change(through: 0),
      condition: .none,
      before: recorder.stored(before),
      after: recorder.stored(stored(name))
    )
    recorder.record(.committed(written))
    endTurn()
  }

  /// Writes or deletes as another program that does not know revisions.
  private func edit() {
    guard let name = any(names) else { return }
    let disturbances = habits.disturbances.filter {
      [.foreignSet, .foreignDelete, .foreignExpire, .foreignType, .foreignFlush].contains($0)
    }
    switch any(disturbances) {
    case .foreignDelete:
      let isReported = isSeenByAll(name)
      guard isReported || !habits.evicts else { return }
      server.keyspace.remove(name.value, at: server.now)
      recordEdit(of: name)
      if isReported { recorder.record(.deleted(name: name.recorded)) }
      note("  deleted: \(name.recorded)")
      return endTurn()
    case .foreignExpire:
      server.keyspace.expire(name.value, at: server.now.milliseconds + 300, now: server.now)
      if stored(name).content != .absent { recorder.record(.expires(name: name.recorded)) }
    case .foreignType:
      server.keyspace.set(name.value, .other(type: "list"))
      recorder.record(.refused)
    case .foreignFlush:
      losses += 1
      recorder.record(.lost)
      server.flushAll()
      server.advanceClock(by: Self.moment)
      server.keyspace.set(Self.outside, .string(Data()))
      for other in names where other != name { recordEdit(of: other) }
    default: server.keyspace.set(name.value, .string(makeDocument()))
    }
    recordEdit(of: name)
    note("  edited: \(name.recorded) \(SimulatedTrace.text(stored(name)))")
    endTurn()
  }

  /// Whether the value has a revision, which remains after a deletion, and every service that shares the value has seen
  /// this version since the last eviction.
  private func isSeenByAll(_ name: KeyNames) -> Bool {
    let stored = stored(name)
    guard stored.document != nil, let meta = stored.meta, let vitals = server.facts(for: 0).vitals else { return false }
    let replicas = services.flatMap { $0.link.members.elements }.map(\.replica).filter { $0.names == name }
    return replicas.allSatisfy { $0.lastVerified.meta?.version == meta.version && $0.lastVerified.sighting == vitals }
  }

  /// Whether the server reports the next write of a value to every service that it reports writes to.
  private func isReported(_ name: KeyNames) -> Bool {
    server.connectedClients.compactMap(\.tracking).allSatisfy {
      $0.prefix != nil || $0.read.contains(Name(name.value))
    }
  }

  func recordEdit(of name: KeyNames) {
    if smallDocument == 0 || !isReported(name) { hasUnnotifiedChange = true }
    let stored = recorder.stored(stored(name))
    recorder.record(.edited(name: name.recorded, stored.document ?? RedisHistory.Document(), stored))
  }
}
