import Foundation
@testable import SharedStateRedis
import SharedStateRedisTesting

/// Two services that share one value on one server, in a world small enough to try every order of events. Each service
/// writes once, one of them loses a connection once, another program edits the value, and lagging replicas take over.
///
/// A step is an event from outside a service, such as a request that reaches the server or a reply that arrives. The
/// service reacts in the same step. Time passes when nothing else can happen.
///
/// Different orders lead to the same state, so a world checks the guarantees as it goes, and keeps no history.
struct SmallWorld {
  enum Step: Hashable {
    case write(Int)
    case cut
    case edit
    /// A replica takes over that has not received the last commit, and whose clock is behind.
    case failOver
    case reach(Int, ConnectionPurpose)
    case arrive(Int, ConnectionPurpose)
  }

  /// The things that may happen in addition to requests and events.
  struct Scope: Hashable, Sendable {
    /// The services that change the value, once each.
    var writers: Set<Int> = [0, 1]
    var isCut = false
    var isEdited = false
    /// How often a replica takes over.
    var failovers = 0

    /// Scopes for every run of the tests.
    static let few = [Scope(), Scope(isCut: true)]
    /// Scopes that take about a minute with optimisation.
    static let more = [
      Scope(writers: [0], isEdited: true, failovers: 1), Scope(writers: [0], isCut: true, failovers: 1),
      Scope(writers: [0], isCut: true, isEdited: true),
    ]
    /// Scopes that take minutes.
    static let many = [
      Scope(failovers: 1), Scope(isCut: true, isEdited: true), Scope(writers: [0], failovers: 2),
    ]
  }

  struct Wire {
    let id: Int
    var outbox: [RedisRequest] = []
    var inbox: [RedisEvent] = []
  }

  struct Service {
    var link: LinkState
    var role = Role<Int>()
    var id: LinkState.ReplicaID = 0
    var wires: [ConnectionPurpose: Wire] = [:]
    var value = SimulatedValue(default: .present)
    var stamp: UInt64 = 0
    var shownSequence: UInt64 = 0
    var revision = Revision.none

    mutating func next(after report: Role<Int>.Event, now: Instant) -> Role<Int>.Step {
      role.next(after: report, in: &link, now: now)
    }
  }

  private(set) var services: [Service]
  private(set) var server = InProcessServer()
  private(set) var judge = RedisHistory.Judge()
  private var now: Instant
  private var writes: Set<Int> = []
  private var mayCut = false
  private var mayEdit = false
  private var failovers = 0
  /// The data of the server before the last commit.
  private var lagging = Keyspace()
  /// The content that the newest revision was committed with.
  private var revised = StoredValue.Content.absent

  private static let names = KeyNames(namespace: "ns:", name: "a", database: 0)
  private static let waker = Waker()
  private static let fields = [SimulatedDocument.Field.first, .second]

  /// Makes a world in which both services are connected and nothing else has happened.
  init(_ scope: Scope) throws {
    now = Instant.now
    server.tick(Simulation.beginning)
    services = (0..<2).map { index in
      let configuration = LinkState.Configuration(
        backoff: .init(base: .milliseconds(50), cap: .milliseconds(50)),
        requestTimeout: .seconds(3_600),
        keepAlive: .seconds(3_600),
        operationTimeout: .seconds(3_600),
        writer: "service@host/1/n\(index)",
        nonce: "n\(index)",
        namespace: "ns:",
        secret: Simulation.secret,
        antiEntropy: .seconds(36_000),
        // Anti-entropy never comes here, but only it would find an edit of the same length in a large document.
        smallDocument: scope.isEdited ? 1_024 : 0,
        restsWhenUnused: false
      )
      return Service(link: LinkState(configuration: configuration, seed: UInt64(index)))
    }
    judge.record(.declared(name: Self.names.value, RedisHistory.Rules(isWatched: true)))
    for index in services.indices {
      let initial = SimulatedValue.Release.present.recordedDefault
      judge.record(.opened(Self.box(index), default: initial, owns: []))
      let policy = ReplicaPolicy(inlineLimit: 1_024, writer: services[index].link.configuration.writer)
      services[index].id = try services[index].link.join(Self.names, name: "a", valueType: "Value", policy: policy)
      run(index)
    }
    while let step = steps.first { perform(step) }
    writes = scope.writers
    (mayCut, mayEdit, failovers) = (scope.isCut, scope.isEdited, scope.failovers)
  }

  // MARK: Steps

  var steps: [Step] {
    guard judge.violations.isEmpty else { return [] }
    var steps = writes.sorted().map(Step.write)
    if mayCut, !services[0].wires.isEmpty { steps.append(.cut) }
    if mayEdit { steps.append(.edit) }
    if failovers > 0 { steps.append(.failOver) }
    for index in services.indices {
      for purpose in ConnectionPurpose.allCases {
        if services[index].wires[purpose]?.outbox.isEmpty == false { steps.append(.reach(index, purpose)) }
        if services[index].wires[purpose]?.inbox.isEmpty == false { steps.append(.arrive(index, purpose)) }
      }
    }
    return steps
  }

  mutating func perform(_ step: Step) {
    switch step {
    case .write(let index):
      writes.remove(index)
      services[index].value[Self.fields[index]] = index + 1
      services[index].stamp += 1
      judge.record(.changed(Self.box(index), number: Int(services[index].stamp), Self.change(by: index)))
      services[index].link.changed(services[index].id)
      run(index)
    case .cut:
      mayCut = false
      cut(0)
    case .edit:
      mayEdit = false
      var document = SimulatedDocument()
      document[.extra] = 9
      server.keyspace.set(Self.names.value, .string(document.data))
      judge.record(.edited(name: Self.names.value, document.recorded, Self.recorded(stored)))
      endTurn()
    case .failOver:
      failovers -= 1
      judge.record(.replaced)
      judge.record(.lost)
      server.restart(with: lagging)
      server.advanceClock(by: -10_000_000)
      for index in services.indices { cut(index) }
    case .reach(let index, let purpose):
      reach(by: index, purpose)
    case .arrive(let index, let purpose):
      guard let wire = services[index].wires[purpose], let event = wire.inbox.first else { return }
      services[index].wires[purpose]?.inbox.removeFirst()
      if case .reply(_, .commit(let reply)) = event { recordAcknowledgement(by: reply, to: index) }
      let arrivals = PerConnection { $0 == purpose ? Arrivals(events: [event], hasHeard: true) : Arrivals() }
      proceed(index, after: .arrived(arrivals))
      run(index)
    }
  }

  /// A connection of a service breaks.
  private mutating func cut(_ index: Int) {
    proceed(index, after: .failed(.disconnected(reason: "simulated")))
    run(index)
  }

  private mutating func reach(by index: Int, _ purpose: ConnectionPurpose) {
    guard let wire = services[index].wires[purpose], let request = wire.outbox.first else { return }
    services[index].wires[purpose]?.outbox.removeFirst()
    carryOut(request, from: wire.id, by: index)
    endTurn()
    letPass(index, purpose)
  }

  /// Delivers a request for the vitals at once. The server's answer does not depend on other events, so the delivery
  /// need not be a step of its own.
  private mutating func letPass(_ index: Int, _ purpose: ConnectionPurpose) {
    if case .vitals? = services[index].wires[purpose]?.outbox.first?.command { reach(by: index, purpose) }
  }

  /// Lets time pass until a step is possible. Returns whether one is.
  mutating func wait() -> Bool {
    for _ in 0..<20 {
      now = now + .milliseconds(60)
      for index in services.indices { run(index) }
      if !steps.isEmpty { return true }
    }
    return false
  }

  private mutating func carryOut(_ request: RedisRequest, from id: Int, by index: Int) {
    let before = stored
    let keyspace = server.keyspace
    try? server.send([request], from: id)
    guard stored.revision != before.revision else { return }
    lagging = keyspace
    defer { revised = stored.content }
    let replica = services[index].link.members[services[index].id]?.replica
    guard case .commit(let commit) = request.command else {
      return judge.record(
        .committed(
          RedisHistory.Commit(
            of: nil,
            to: Self.names.value,
            cause: .restoration,
            before: Self.recorded(before),
            after: Self.recorded(stored)
          )
        )
      )
    }
    var written = RedisHistory.Commit(
      of: Self.box(index),
      to: Self.names.value,
      cause: .adoption,
      before: Self.recorded(before),
      after: Self.recorded(stored)
    )
    if case .repair(let repair)? = replica?.inFlight?.purpose {
      if repair.kind != .adopt { written.cause = .merge }
      if let verified = replica?.lastVerified, let meta = verified.meta,
        stored.meta?.lineage.covers(meta.version) ?? false
      {
        written.includes = Self.recorded(StoredValue(meta: meta, content: verified.content))
      }
    } else if case .document = commit.content {
      written.cause = .change(through: Int(services[index].stamp))
      written.changes = Self.change(by: index)
      // Otherwise the commit overwrites an edit that was not adopted, and is not based on the stored content.
      if before.content == revised { written.base = written.before.content }
    }
    judge.record(.committed(written))
  }

  private mutating func endTurn() {
    _ = server.endTurn()
    for index in services.indices {
      for (purpose, wire) in services[index].wires where server.hasOutput(for: wire.id) {
        let events = (try? server.takeOutput(for: wire.id)) ?? []
        services[index].wires[purpose]?.inbox += events.filter { event in
          // The other keys of a value are written together with it, and their invalidations are ignored.
          if case .invalidated(let keys?) = event { keys.contains(Self.names.value) } else { true }
        }
      }
    }
  }

  private var stored: StoredValue { server.keyspace.stored(Self.names, at: server.now) }

  // MARK: The history

  private static func box(_ index: Int) -> RedisHistory.Box {
    RedisHistory.Box(service: "service \(index)", name: names.value)
  }

  private static func change(by index: Int) -> RedisHistory.Document { [fields[index].key: String(index + 1)] }

  private static func recorded(_ stored: StoredValue) -> RedisHistory.Stored {
    let document = stored.document.flatMap { SimulatedDocument($0) }?.recorded
    return RedisHistory.Stored(revision: stored.revision.rawValue, document.map { .document($0) } ?? .absent)
  }

  /// Records the acknowledgement by a reply, which is about to be handed in.
  private mutating func recordAcknowledgement(by reply: CommitReply, to index: Int) {
    guard let replica = services[index].link.members[services[index].id]?.replica, let commit = replica.inFlight,
      case .change(let stamp, _, _) = commit.purpose
    else { return }
    let revision: Revision?
    switch reply {
    case .committed(let made, _, _): revision = made
    // The commit took effect, but its connection broke before the reply.
    case .conflict(let stored, _) where !replica.hasUndecided:
      let known = [stored.meta, replica.lastVerified.meta].compactMap(\.self)
      revision = known.first { commit.hasMade($0, writer: replica.policy.writer) }?.revision
    case .conflict, .held, .wrongType: revision = nil
    }
    guard let revision else { return }
    judge.record(.acknowledged(Self.box(index), through: Int(stamp), revision: revision.rawValue))
  }

  // MARK: A service

  /// Runs the thread of a service, as if it were woken, until it has nothing left to do at once.
  private mutating func run(_ index: Int) {
    var isBusy = true
    while isBusy {
      let isWaiting = services[index].wires.isEmpty
      isBusy = proceed(index, after: isWaiting ? .nothing : .arrived(PerConnection { _ in Arrivals() }))
    }
  }

  /// Runs the thread of a service until it waits. Returns whether it has done anything.
  @discardableResult
  private mutating func proceed(_ index: Int, after report: Role<Int>.Event) -> Bool {
    var report = report
    var isBusy = false
    while true {
      switch services[index].next(after: report, now: now) {
      case .perform(let effects):
        report = .performed(effects.compactMap { perform($0, in: index) })
      case .connect:
        let connections = PerConnection { try? server.connect(name: "\(index)", purpose: $0, waker: Self.waker) }
        if let subscriber = connections[.subscriber], let writer = connections[.writer] {
          services[index].wires = [.subscriber: Wire(id: subscriber), .writer: Wire(id: writer)]
          let opened = PerConnection { $0 == .writer ? writer : subscriber }
          report = .opened(opened, PerConnection { server.facts(for: opened[$0]) })
        } else {
          report = .failed(.unreachable(reason: "simulated"))
        }
      case .exchange(_, let requests, _):
        for purpose in [ConnectionPurpose.subscriber, .writer] {
          services[index].wires[purpose]?.outbox += requests[purpose]
          letPass(index, purpose)
        }
        return isBusy || !requests.values.allSatisfy(\.isEmpty)
      case .close(let connections):
        for id in connections.values { server.close(id) }
        services[index].wires = [:]
        report = .nothing
      case .wait, .end:
        return isBusy
      }
      isBusy = true
    }
  }

  /// Performs an effect, if it concerns the value.
  private mutating func perform(_ effect: LinkState.Effect, in index: Int) -> LinkState.Effect.Outcome? {
    switch effect {
    case .show(let id, let toShow, _):
      return .shown(id, toShow, show(toShow, in: index))
    case .encode(let id, let encoding, _, _):
      let service = services[index]
      let coder = SimulatedValue.coder(for: .present)
      let initial = SimulatedValue(default: .present)
      return .encoded(
        id,
        encoding.fork.map(coder.merged)
          ?? coder.documents(of: service.value, stamp: service.stamp, default: initial, encoding)
      )
    default:
      return nil
    }
  }

  private mutating func show(_ toShow: Replica.StateToShow, in index: Int) -> Replica.ShowOutcome {
    let service = services[index]
    if toShow.sequence <= service.shownSequence { return .outdated }
    if toShow.stamp != service.stamp { return .superseded }
    let document: Data? = if case .document(let data) = toShow.state.content { data } else { nil }
    services[index].value =
      document.flatMap { SimulatedValue($0, release: .present) } ?? SimulatedValue(default: .present)
    (services[index].shownSequence, services[index].revision) = (toShow.sequence, toShow.state.revision)
    let shown = document.map { _ in services[index].value.document.recorded }
    judge.record(
      .shown(Self.box(index), shown, revision: toShow.state.revision.rawValue, isFromOutside: true)
    )
    return .shown
  }

  // MARK: States

  /// Records that nothing can happen any more.
  mutating func rest() {
    let boxes = services.indices.map { index in
      let confirmed = services[index].link.members[services[index].id]?.replica.confirmed.revision ?? .none
      return RedisHistory.Rest.Held(
        Self.box(index),
        services[index].value.document.recorded,
        revision: confirmed.rawValue
      )
    }
    judge.record(.rested(RedisHistory.Rest(stored: [Self.names.value: Self.recorded(stored)], boxes: boxes)))
  }

  /// Equal for two worlds in which the same things can happen.
  var fingerprint: Int {
    var hasher = Hasher()
    hasher.combine(writes)
    hasher.combine(mayCut)
    hasher.combine(mayEdit)
    hasher.combine(failovers)
    hasher.combine(lagging.stored(Self.names, at: server.now))
    hasher.combine(stored)
    hasher.combine(server.keyspace.string(Self.names.operations, at: server.now))
    hasher.combine(revised)
    hasher.combine(judge.violations)
    for service in services {
      hasher.combine(service.value)
      hasher.combine(service.stamp)
      hasher.combine(service.revision)
      for purpose in ConnectionPurpose.allCases {
        guard let wire = service.wires[purpose] else { continue }
        hasher.combine(wire.id)
        for request in wire.outbox { combine(request, into: &hasher) }
        hasher.combine(-1)
        for event in wire.inbox { combine(event, into: &hasher) }
        hasher.combine(service.link.online?.exchanges[purpose].count)
      }
      combine(service.link, service.id, into: &hasher)
    }
    return hasher.finalize()
  }

  private func combine(_ link: LinkState, _ id: LinkState.ReplicaID, into hasher: inout Hasher) {
    hasher.combine(link.session.epoch)
    hasher.combine(link.session.phase == .connected)
    hasher.combine(link.nextOperation)
    if let online = link.online {
      hasher.combine(online.subscriptions.confirmed)
      hasher.combine(online.reads.first(.check))
      hasher.combine(online.reads.first(.ownCheck))
      hasher.combine(online.checks.wasOwn)
      hasher.combine(online.checks.isUnderWay)
      hasher.combine(online.checks.nextAt.map { $0 <= now })
      hasher.combine(online.checks.nextOwnAt.map { $0 <= now })
      hasher.combine(link.members[id]?.online?.reading.isCommittedSince)
      hasher.combine(online.vitals.latest)
      hasher.combine(online.vitals.askAt.map { $0 <= now })
      hasher.combine(online.vitals.asking)
      hasher.combine(online.agenda.contains([.confirmation]))
      hasher.combine(link.members[id]?.online?.reading.isOwnCheckPlanned)
      hasher.combine(online.agenda.next.map { $0 <= now })
    }
    guard let replica = link.members[id]?.replica else { return }
    hasher.combine(replica.phase == .live)
    hasher.combine(replica.phase == .offline)
    hasher.combine(replica.phase == .subscribing)
    hasher.combine(replica.confirmed.state)
    hasher.combine(replica.confirmed.meta)
    hasher.combine(replica.confirmed.isMetaCertain)
    hasher.combine(replica.shown.sight)
    hasher.combine(replica.verified.floor)
    hasher.combine(replica.shown.base)
    hasher.combine(replica.shown.baseRevision)
    hasher.combine(replica.pending.isDirty)
    hasher.combine(replica.online?.wasRead)
    hasher.combine(replica.online?.isServerKnown)
    hasher.combine(replica.online?.repairs.repair)
    hasher.combine(replica.pending.settledStamp)
    // Only the order of counters matters, not their values.
    for read in replica.online?.reads ?? [] {
      hasher.combine(replica.outstandingReads.sentReads - read.number)
      hasher.combine(read.verifiedChanges == replica.verified.changes)
    }
    hasher.combine(replica.outstandingReads.answeredRead < replica.outstandingReads.sentReads)
    hasher.combine(replica.lastVerified)
    hasher.combine(replica.verified.alternatives)
    hasher.combine(replica.confirmed.left)
    hasher.combine(replica.online?.repairs.absence?.stored)
    hasher.combine(replica.online?.repairs.absence?.verifiedChanges == replica.verified.changes)
    hasher.combine(replica.online?.repairs.wait)
    for entry in replica.verified.memory.entries {
      hasher.combine(entry.version)
      hasher.combine(entry.document)
    }
    hasher.combine(replica.inFlight?.lineage)
    hasher.combine(replica.inFlight?.operation)
    hasher.combine(replica.inFlight?.content)
    hasher.combine(replica.inFlight?.condition)
    hasher.combine(replica.inFlight?.isSent)
    hasher.combine(replica.inFlight?.isInterrupted)
    hasher.combine(replica.inFlight?.verifiedChanges == replica.verified.changes)
  }

  private func combine(_ request: RedisRequest, into hasher: inout Hasher) {
    hasher.combine(request.id)
    switch request.command {
    case .commit(let commit):
      hasher.combine(commit.operation)
      hasher.combine(commit.condition)
      hasher.combine(commit.floor)
      if case .document(let document, _) = commit.content { hasher.combine(document) }
    case .restore(let restore): hasher.combine(restore)
    case .read: hasher.combine(0)
    case .summarize: hasher.combine(3)
    case .trackAgain: hasher.combine(4)
    case .base(let key, _): hasher.combine(key)
    case .document(let names, _): hasher.combine(names.value)
    case .subscribe(let channels), .unsubscribe(let channels): hasher.combine(channels)
    case .ping, .role, .vitals, .secret: hasher.combine(1)
    case .wait(let wait): hasher.combine(wait)
    case .track(let redirect, _): hasher.combine(redirect)
    }
  }

  private func combine(_ event: RedisEvent, into hasher: inout Hasher) {
    switch event {
    case .message(_, let payload): hasher.combine(payload)
    case .invalidated(let keys): hasher.combine(keys?.contains(Self.names.value))
    case .reply(let id, let reply):
      hasher.combine(id)
      switch reply {
      case .values(let values): hasher.combine(values)
      case .summaries(let summaries): hasher.combine(summaries)
      case .document(let content): hasher.combine(content)
      case .commit(let reply): hasher.combine(reply)
      case .failure(let error): hasher.combine(error)
      case .vitals(let vitals): hasher.combine(vitals)
      case .existing(let count): hasher.combine(count)
      case .replicas(let answer): hasher.combine(answer)
      case .pong, .secret, .tracking, .subscribed, .unsubscribed: hasher.combine(2)
      }
    }
  }
}
