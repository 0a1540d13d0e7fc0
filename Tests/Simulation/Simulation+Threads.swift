import Foundation
import SharedStateRedisTesting
@testable import SharedStateRedis

/// The outcome of an effect, and the true purpose of the commit that it leads to.
typealias SimulatedOutcome = (outcome: LinkState.Effect.Outcome, operation: SimulatedOperation?)

/// The steps of the thread of a link.
extension Simulation {
  func canProceed(_ thread: SimulatedService.Thread) -> Bool {
    guard thread.tasks.isEmpty else { return true }
    switch thread.step {
    case .end: return false
    case .wait(let until): return thread.isWoken || until <= now
    case .exchange(let connections, let requests, let until):
      let isOver = thread.isWoken || until <= now || connections.values.contains(where: \.hasArrivals)
      return isOver || !requests.values.allSatisfy(\.isEmpty)
    case .perform, .connect, .close: return true
    }
  }

  func proceed(_ thread: SimulatedService.Thread, in service: SimulatedService) {
    guard thread.tasks.isEmpty else { return perform(thread.tasks.removeFirst(), in: service, &thread.tasks) }
    switch thread.step {
    case .perform:
      decide(thread, after: .performed([]), in: service)
    case .wait:
      thread.isWoken = false
      decide(thread, after: .nothing, in: service)
    case .connect(let pass, _):
      if let report = connect(thread, pass, in: service) { decide(thread, after: report, in: service) }
    case .exchange(let connections, var requests, let until):
      guard let purpose = ConnectionPurpose.allCases.first(where: { !requests[$0].isEmpty }) else {
        return receive(thread, from: connections, in: service)
      }
      guard !connections[purpose].isBroken else {
        return decide(thread, after: .failed(.disconnected(reason: "simulated")), in: service)
      }
      connections[purpose].append(requests[purpose])
      requests[purpose] = []
      thread.step = .exchange(connections, requests, until: until)
    case .close(let connections):
      for connection in connections.values { close(connection) }
      decide(thread, after: .nothing, in: service)
    case .end:
      break
    }
  }

  private func decide(
    _ thread: SimulatedService.Thread,
    after report: Role<SimulatedConnection>.Event,
    in service: SimulatedService
  ) {
    thread.step = service.decide { thread.role.next(after: report, in: &$0, now: now) }
    service.register(thread.role.requests[.writer])
    switch thread.step {
    case .perform(let effects): service.resolve(effects, into: &thread.tasks)
    case .exchange(_, let requests, _): service.register(requests[.writer])
    default: break
    }
  }

  private func note(
    _ outcome: SimulatedOutcome,
    of thread: SimulatedService.Thread,
    _ link: inout LinkState,
    _ service: SimulatedService
  ) {
    if case .encoded(_, let encoded, _) = outcome.outcome, let operation = outcome.operation {
      note(operation, of: encoded, link, service)
    }
    thread.role.note(outcome.outcome, in: &link, now: now)
  }

  /// Sends what was encoded while the thread sleeps, or leaves it to the thread.
  func send(_ outcome: SimulatedOutcome, in service: SimulatedService, _ tasks: inout [SimulatedService.Task]) {
    let thread = service.thread
    service.decide { note(outcome, of: thread, &$0, service) }
    service.register(thread.role.requests[.writer])
    if service.hasEncodings {
      note("service \(service.index) sends this together with what is encoded next")
    } else if !thread.isAsleep {
      if !thread.role.requests[.writer].isEmpty { thread.isWoken = true }
    } else if let (connection, requests) = thread.role.takeRequests(in: &service.link, now: now) {
      note("service \(service.index) sends \(requests.count) requests itself")
      if connection.isBroken {
        service.decide { thread.role.note(.failed(.disconnected(reason: "simulated")), in: &$0, now: now) }
      } else {
        connection.append(requests)
      }
    }
    service.resolve(service.link.takeEffects(), into: &tasks)
  }

  /// Opens one connection. Returns the report once both are open, or one cannot be opened.
  private func connect(
    _ thread: SimulatedService.Thread,
    _ pass: UInt64,
    in service: SimulatedService
  ) -> Role<SimulatedConnection>.Event? {
    let purpose: ConnectionPurpose = thread.subscriber == nil ? .subscriber : .writer
    guard let connection = open(purpose, pass, in: service) else {
      if let subscriber = thread.subscriber.take() { close(subscriber) }
      return .failed(.unreachable(reason: "simulated"))
    }
    guard let subscriber = thread.subscriber.take() else {
      thread.subscriber = connection
      return nil
    }
    let connections = PerConnection { $0 == .writer ? connection : subscriber }
    return .opened(connections, PerConnection { connections[$0].facts })
  }

  private func open(
    _ purpose: ConnectionPurpose,
    _ pass: UInt64,
    in service: SimulatedService
  ) -> SimulatedConnection? {
    var opened: SimulatedConnection?
    visit(route(pass, of: service)) {
      guard let id = try? server.connect(name: "service\(service.index)", purpose: purpose, waker: waker) else {
        return
      }
      let connection = SimulatedConnection(
        id: id,
        server: here,
        purpose: purpose,
        service: service,
        facts: server.facts(for: id)
      )
      connections.append(connection)
      opened = connection
      note("service \(service.index) connects its \(purpose) to server \(here)")
    }
    return opened
  }

  func close(_ connection: SimulatedConnection) {
    leaveOutbox(of: connection)
    discard(connection)
  }

  /// Requests on a closed connection may still be carried out, much later.
  func leaveOutbox(of connection: SimulatedConnection) {
    guard !connection.outbox.isEmpty, chance(2) else { return }
    let late = SimulatedConnection(
      id: connection.id,
      server: connection.server,
      purpose: connection.purpose,
      service: connection.service,
      facts: connection.facts
    )
    late.isLate = true
    late.append(connection.outbox)
    connections.append(late)
  }

  func discard(_ connection: SimulatedConnection) {
    connections.removeAll { $0 === connection }
    closeUnlessLate(connection)
  }

  /// Closes the connection at the server, unless late requests on it are still to arrive.
  func closeUnlessLate(_ connection: SimulatedConnection) {
    guard !connections.contains(where: { $0.id == connection.id && $0.server == connection.server && $0.isLate }) else {
      return
    }
    visit(connection.server) { server.close(connection.id) }
  }

  /// Like `RedisPersistence.encode`, and returns the true purpose of the commit as well.
  func encode(
    _ encoding: Replica.Encoding,
    of id: LinkState.ReplicaID,
    in service: SimulatedService
  ) -> SimulatedOutcome {
    guard let box = service.boxes[id] else {
      return (.encoded(id, Replica.Encoded(stamp: 0, result: .failure(.stopped))), nil)
    }
    let coder = SimulatedValue.coder(for: box.release)
    if let fork = encoding.fork { return (.encoded(id, coder.merged(fork), isQuick: true), nil) }
    let initial = SimulatedValue(default: box.release)
    // Computed independently of the code under test.
    let isMerged = box.policy.conflict != .lastWriteWins && !encoding.isReplacement
    guard encoding.updates.isEmpty else {
      var increments: [SimulatedUpdate] = []
      let encoded = coder.documents(default: initial, encoding) { waiter, value in
        guard let update = service.updates[waiter] else { return false }
        if update.kind == .increment, !increments.contains(where: { $0 === update }) { increments.append(update) }
        return update.run(on: &value)
      }
      increments.removeAll { update in encoded.refused.keys.contains { service.updates[$0] === update } }
      let operation = SimulatedOperation(
        box: box,
        purpose: .updates(increments),
        stored: encoding.stored,
        isMerged: isMerged
      )
      return (.encoded(id, encoded, isQuick: true), operation)
    }
    guard let (value, stamp, changes) = box.snapshot() else { return (.locked(id), nil) }
    let operation = SimulatedOperation(
      box: box,
      purpose: .change(stamp: stamp, changes),
      stored: encoding.stored,
      origin: encoding.base,
      isMerged: isMerged
    )
    let encoded = coder.documents(of: value, stamp: stamp, default: initial, encoding)
    note("service \(service.index) encodes \(box.name) \(value), stamp \(stamp)")
    return (.encoded(id, encoded, isQuick: true), operation)
  }

  /// Notes the purpose of the commit that this encoding leads to.
  private func note(
    _ operation: SimulatedOperation,
    of encoded: Replica.Encoded,
    _ link: LinkState,
    _ service: SimulatedService
  ) {
    if case .failure = encoded.result, case .change(let stamp, _) = operation.purpose {
      operation.box.giveUp(stamp, isEncodable: encoded.givesWay)
    }
    service.operations[link.nextOperation] = operation
  }

  /// Receives from one of the connections, or from both.
  private func receive(
    _ thread: SimulatedService.Thread,
    from connections: PerConnection<SimulatedConnection>,
    in service: SimulatedService
  ) {
    thread.isWoken = false
    var arrivals = PerConnection { _ in Arrivals() }
    let first = connections.values.filter(\.hasArrivals).randomElement(using: &random)
    if let first { arrivals[first.purpose] = receive(from: first) }
    // An answer of the subscriber may end the session, and then the replies of the writer are not handed in. The meaning
    // of a conflict depends on everything before it.
    let other = connections.values.first { $0 !== first }
    if first?.purpose == .subscriber, arrivals[.subscriber].failure == nil,
      arrivals[.subscriber].events.allSatisfy({ !$0.isReply }),
      let other, other.hasArrivals, other.inbox.first?.isConflict != true, chance(2)
    {
      arrivals[other.purpose] = receive(from: other)
    }
    for purpose in [ConnectionPurpose.subscriber, .writer] where !arrivals[purpose].events.isEmpty {
      let events = arrivals[purpose].events
      note("service \(service.index) \(purpose) < \(events.map(SimulatedTrace.text).joined(separator: "; "))")
      note(events, on: connections[purpose], thread.role.epoch, of: service)
    }
    decide(thread, after: .arrived(arrivals), in: service)
    recordLoad(of: service)
  }

  private func receive(from connection: SimulatedConnection) -> Arrivals {
    guard !connection.inbox.isEmpty else { return Arrivals(failure: .disconnected(reason: "simulated")) }
    var count = Int.random(in: 1...connection.inbox.count, using: &random)
    // The meaning of a conflict depends on the state of the service. So the batch ends before a conflict, and all
    // earlier events are handed in first.
    count = connection.inbox[1...].firstIndex(where: \.isConflict).map { min(count, $0) } ?? count
    defer { connection.inbox.removeFirst(count) }
    return Arrivals(events: Array(connection.inbox.prefix(count)))
  }

  /// Notes the local changes that these events, which are about to be handed in, acknowledge or give up.
  func note(
    _ events: [RedisEvent],
    on connection: SimulatedConnection,
    _ epoch: UInt64,
    of service: SimulatedService
  ) {
    guard epoch == service.link.session.epoch, service.link.session.phase == .connected else { return }
    for case .reply(let id, let reply) in events {
      // A new reign ends the session, and later events are not handed in.
      if case .vitals(let vitals) = reply, !vitals.continues(service.link.latestVitals) { return }
      guard let number = connection.operations[id], let operation = service.operations[number] else { continue }
      let revision: Revision
      switch reply {
      case .failure:
        if case .reset = operation.purpose { operation.box.giveUpReset() }
        continue
      case .commit(.committed(let made, _, _)): revision = made
      // The server has forgotten the operation. The conflict contains the version that the operation made, or the
      // service had received that version before the server lost it.
      case .commit(.conflict(let stored, _)):
        recorder.record(.conflicted(operation.box.place))
        guard let replica = service.link.members[operation.box.id]?.replica else { continue }
        // A service that has given up an interrupted commit cannot tell whose effect it sees.
        guard !replica.hasUndecided else { continue }
        // Not the whole meta: a version that another service has restored may have another expiry. Not only the
        // revision: the commit before this one may have got the same revision on another server.
        let known = [stored.meta, replica.lastVerified.meta].compactMap(\.self)
        func isKnown(_ made: Meta) -> Bool {
          known.contains { $0.version == made.version && $0.writer == made.writer }
        }
        guard let made = operation.made.last(where: isKnown) else { continue }
        revision = made.revision
      default: continue
      }
      switch operation.purpose {
      case .change(let stamp, _): operation.box.acknowledge(stamp, revision)
      case .reset(let stamp): operation.box.acknowledge(stamp, revision, isReset: true)
      case .repair: adoptions[operation.box.names]?.tell(operation.box, revision)
      case .updates: continue
      }
    }
  }
}

extension RedisEvent {
  fileprivate var isReply: Bool { if case .reply = self { true } else { false } }

  fileprivate var isConflict: Bool {
    if case .reply(_, .commit(.conflict)) = self { true } else { false }
  }
}
