import Foundation
@testable import SharedStateRedis

/// The result of an encoding, and the purpose of its commit.
///
/// `encoded` is `nil` if a closure holds the value.
typealias SimulatedEncoded = (encoded: Replica.Encoded?, operation: SimulatedOperation?)

/// The steps of the threads of a link, modelled after `Link.run`.
extension Simulation {
  func canProceed(_ thread: SimulatedService.Thread) -> Bool {
    guard thread.tasks.isEmpty else { return true }
    switch thread.position {
    case .absent: return false
    case .waiting(let until): return thread.isWoken || until <= now
    case .receiving(let until, _): return thread.isWoken || until <= now || thread.open?.connection.hasArrivals ?? true
    default: return true
    }
  }

  func proceed(_ thread: SimulatedService.Thread, in service: SimulatedService) {
    guard thread.tasks.isEmpty else { return perform(thread.tasks.removeFirst(), in: service, &thread.tasks) }
    switch thread.position {
    case .absent:
      break
    case .deciding:
      decide(thread, in: service)
    case .waiting:
      thread.isWoken = false
      thread.position = .deciding
    case .connecting(let epoch):
      thread.position = .deciding
      connect(thread, epoch, in: service)
    case .serving(let epoch):
      guard let work = service.update(&thread.tasks, { $0.work(for: thread.purpose, epoch: epoch, now: now) }) else {
        thread.position = .deciding
        return
      }
      service.register(work.requests)
      thread.position = .encoding(work, done: [], epoch: epoch)
    case .encoding(let work, let done, let epoch):
      encode(work, done, epoch, thread, in: service)
    case .sending(let requests, let until, let epoch):
      if !requests.isEmpty, thread.open?.connection.isBroken ?? true {
        fail(thread, epoch, in: service)
      } else {
        thread.open?.connection.append(requests)
        thread.position = .receiving(until: until, epoch: epoch)
      }
    case .receiving(_, let epoch):
      receive(thread, epoch, in: service)
    }
  }

  func decide(_ thread: SimulatedService.Thread, in service: SimulatedService) {
    let instruction = service.update(&thread.tasks) { link in
      let instruction = link.instruction(for: thread.purpose, now: now)
      if instruction == .exit { thread.position = .absent }
      return instruction
    }
    if let (connection, epoch) = thread.open, instruction != .serve(epoch: epoch) {
      close(connection)
      thread.open = nil
    }
    switch instruction {
    case .exit: break
    case .wait(let until): thread.position = .waiting(until: until)
    case .connect(let epoch): thread.position = .connecting(epoch: epoch)
    case .serve(let epoch): thread.position = .serving(epoch: epoch)
    }
  }

  func connect(_ thread: SimulatedService.Thread, _ epoch: UInt64, in service: SimulatedService) {
    let name = "service\(service.index)"
    guard let id = try? server.connect(name: name, purpose: thread.purpose, waker: waker) else {
      return service.update(&thread.tasks) { link in
        link.failed(epoch: epoch, error: .unreachable(reason: "simulated"), now: now)
      }
    }
    let connection = SimulatedConnection(id: id, purpose: thread.purpose, service: service)
    connections.append(connection)
    thread.open = (connection, epoch)
    service.update(&thread.tasks) { $0.connected(thread.purpose, server.facts(for: id), epoch: epoch, now: now) }
  }

  func close(_ connection: SimulatedConnection) {
    leaveOutbox(of: connection)
    discard(connection)
  }

  /// Requests on a closed connection may still be carried out, much later.
  func leaveOutbox(of connection: SimulatedConnection) {
    guard !connection.outbox.isEmpty, chance(2) else { return }
    let late = SimulatedConnection(id: connection.id, purpose: connection.purpose, service: connection.service)
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
    if !connections.contains(where: { $0.id == connection.id && $0.isLate }) { server.close(connection.id) }
  }

  func fail(_ thread: SimulatedService.Thread, _ epoch: UInt64, in service: SimulatedService) {
    thread.position = .deciding
    service.update(&thread.tasks) { $0.failed(epoch: epoch, error: .disconnected(reason: "simulated"), now: now) }
  }

  func encode(
    _ work: LinkState.Work,
    _ done: [SimulatedEncoded],
    _ epoch: UInt64,
    _ thread: SimulatedService.Thread,
    in service: SimulatedService
  ) {
    if done.count < work.encodings.count {
      let (id, encoding) = work.encodings[done.count]
      let encoded = encode(encoding, of: service.boxes[id], in: service)
      thread.position = .encoding(work, done: done + [encoded], epoch: epoch)
      return
    }
    var requests = work.requests
    if !done.isEmpty {
      service.update(&thread.tasks) { link in
        for (encoding, encoded) in zip(work.encodings, done) {
          requests += report(encoded, of: encoding.id, &link, service).map { [$0] } ?? []
        }
      }
      service.register(requests)
    }
    thread.position = .sending(requests, until: work.waitUntil, epoch: epoch)
  }

  /// Like `RedisPersistence.encode`, and returns the true purpose of the commit as well.
  func encode(
    _ encoding: Replica.Encoding,
    of box: SimulatedBox?,
    in service: SimulatedService
  ) -> SimulatedEncoded {
    guard let box else { return (Replica.Encoded(stamp: 0, result: .failure(.stopped)), nil) }
    let coder = SimulatedValue.coder(for: box.release)
    if let fork = encoding.fork { return (coder.merged(fork), nil) }
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
      return (encoded, operation)
    }
    guard let (value, stamp, changes) = box.snapshot() else { return (nil, nil) }
    let operation = SimulatedOperation(
      box: box,
      purpose: .change(stamp: stamp, changes),
      stored: encoding.stored,
      origin: encoding.base.document,
      isMerged: isMerged
    )
    let encoded = coder.documents(of: value, stamp: stamp, default: initial, encoding)
    note("service \(service.index) encodes \(box.name) \(value), stamp \(stamp)")
    return (encoded, operation)
  }

  func report(
    _ encoded: SimulatedEncoded,
    of id: LinkState.ReplicaID,
    _ link: inout LinkState,
    _ service: SimulatedService
  ) -> RedisRequest? {
    guard let result = encoded.encoded else {
      link.locked(id)
      return nil
    }
    if let operation = encoded.operation {
      if case .failure = result.result, case .change(let stamp, _) = operation.purpose {
        operation.box.giveUp(stamp, isEncodable: result.givesWay)
      }
      service.operations[link.commits.nextOperation] = operation
    }
    return link.encoded(id, result, now: now)
  }

  func receive(_ thread: SimulatedService.Thread, _ epoch: UInt64, in service: SimulatedService) {
    thread.isWoken = false
    guard let connection = thread.open?.connection else { return fail(thread, epoch, in: service) }
    if connection.isBroken, connection.inbox.isEmpty { return fail(thread, epoch, in: service) }
    var events: [RedisEvent] = []
    if connection.hasArrivals {
      var count = Int.random(in: 1...connection.inbox.count, using: &random)
      // The meaning of a conflict depends on the state of the service. So the batch ends before a conflict, and all
      // earlier events are handed in first.
      count = connection.inbox[1...].firstIndex(where: \.isConflict).map { min(count, $0) } ?? count
      events = Array(connection.inbox.prefix(count))
      connection.inbox.removeFirst(count)
    }
    thread.position = .deciding
    if !events.isEmpty {
      note("service \(service.index) \(thread.purpose) < \(events.map(SimulatedTrace.text).joined(separator: "; "))")
    }
    note(events, on: connection, epoch, of: service)
    service.update(&thread.tasks) { $0.arrived(events, on: thread.purpose, epoch: epoch, now: now) }
    recordLoad(of: service)
  }

  /// Notes the local changes that these events, which are about to be handed in, acknowledge or give up.
  func note(
    _ events: [RedisEvent],
    on connection: SimulatedConnection,
    _ epoch: UInt64,
    of service: SimulatedService
  ) {
    guard epoch == service.link.session.epoch, service.link.exchanges[.writer] != nil else { return }
    for case .reply(let id, let reply) in events {
      // A new reign ends the session, and later events are not handed in.
      if case .vitals(let vitals) = reply, vitals.era != service.link.vitals.era { return }
      guard let number = connection.operations[id], let operation = service.operations[number] else { continue }
      let revision: Revision
      switch reply {
      case .failure:
        if case .reset = operation.purpose { operation.box.giveUpReset() }
        continue
      case .commit(.committed(let made, _)): revision = made
      // The server has forgotten the operation. The conflict contains the version that the operation made, or the
      // service had received that version before the server lost it.
      case .commit(.conflict(let stored, _)):
        guard let made = operation.made, let replica = service.link.members[operation.box.id]?.replica else { continue }
        // A service that has given up an interrupted commit cannot tell whose effect it sees.
        guard !replica.hasUndecided else { continue }
        // Not the whole meta: a version that another service has restored may have another expiry.
        let known = [stored.meta, replica.held.meta]
        guard known.contains(where: { $0?.revision == made.revision && $0?.writer == made.writer }) else { continue }
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
  fileprivate var isConflict: Bool {
    if case .reply(_, .commit(.conflict)) = self { true } else { false }
  }
}

extension Replica.Base {
  fileprivate var document: Data? {
    switch self {
    case .defaultValue: nil
    case .stored(let document), .encoded(_, let document): document
    }
  }
}
