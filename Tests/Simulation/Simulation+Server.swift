import Foundation
@testable import SharedStateRedis
import SharedStateRedisTesting

/// The delivery of requests to the server.
extension Simulation {
  /// Some of the sent requests reach the server.
  func reach(_ connection: SimulatedConnection) {
    visit(connection.server) { reachServer(from: connection) }
  }

  private func reachServer(from connection: SimulatedConnection) {
    if connection.breaksAtCommit, connection.isAboutToCommit, chance(2) { return loseRequests(on: connection) }
    let count = Int.random(in: 1...connection.outbox.count, using: &random)
    let requests = Array(connection.outbox.prefix(count))
    connection.outbox.removeFirst(count)
    for request in requests {
      if isPoison(request), !connection.isLate {
        endTurn()
        return cut(connection)
      }
      carryOut(request, from: connection)
    }
    endTurn()
    if connection.breaksAtCommit { loseReply(to: requests, on: connection) }
    if connection.isLate, connection.outbox.isEmpty { discard(connection) }
  }

  private func isPoison(_ request: RedisRequest) -> Bool {
    switch request.command {
    case .commit(let commit): commit.names == poison
    case .restore(let restore): restore.names == poison
    default: false
    }
  }

  /// The sent requests are lost, or arrive much later, when the waiter may have given up.
  private func loseRequests(on connection: SimulatedConnection) {
    cut(connection)
    if habits.uses.contains(.cancel), chance(2) { cancel(in: connection.service) }
  }

  /// The reply to a commit is lost. By the time its writer can ask for the outcome, others may have written, and the
  /// server may have forgotten the commit.
  private func loseReply(to requests: [RedisRequest], on connection: SimulatedConnection) {
    for case .commit(let commit) in requests.lazy.map(\.command) {
      connection.inbox = []
      cut(connection)
      for _ in 0..<2 {
        if chance(2) { commitFromOutside(makeDocument(), to: commit.names) }
        if habits.evicts, chance(3) { evict(commit.names) }
      }
      return
    }
  }

  /// Ends a turn of each server's loop: it sends invalidations, and all output is on its way to the services.
  func endTurn() {
    _ = server.endTurn()
    _ = other?.server.endTurn()
    for connection in connections where !connection.isBroken {
      for event in takeOutput(for: connection) {
        if case .message(let channel, let payload) = event {
          announcements = announcements.suffix(15) + [(channel, payload)]
        }
        // After a read has found values missing, the connection asks for their types before it answers the read. So a
        // later count of evictions may come first.
        let isOvertaken = event.isOfVitals && connection.inbox.last?.isOfMissingValue ?? false && chance(2)
        connection.inbox.insert(event, at: connection.inbox.count - (isOvertaken ? 1 : 0))
      }
    }
  }

  private func takeOutput(for connection: SimulatedConnection) -> [RedisEvent] {
    var output: [RedisEvent]?
    if connection.server == here {
      if server.hasOutput(for: connection.id) { output = try? server.takeOutput(for: connection.id) }
    } else if other?.server.hasOutput(for: connection.id) ?? false {
      output = try? other?.server.takeOutput(for: connection.id)
    }
    return output ?? []
  }

  func stored(_ name: KeyNames) -> StoredValue { server.keyspace.stored(name, at: server.now) }

  private func carryOut(_ request: RedisRequest, from connection: SimulatedConnection) {
    let service = connection.service
    note("server \(here) < service \(service.index): \(SimulatedTrace.text(request))")
    let names: KeyNames
    switch request.command {
    case .commit(let commit): names = commit.names
    case .restore(let restore): names = restore.names
    case .ping, .role, .vitals, .secret, .track, .trackAgain, .summarize, .read, .document, .base, .subscribe,
      .unsubscribe, .wait:
      recordTouch(by: request.command, service)
      try? server.send([request], from: connection.id)
      return
    }
    recorder.touch(names.scriptKeys + [names.channel], by: service)
    // A caller that gives up at this moment cannot know the outcome.
    if habits.uses.contains(.cancel), chance(8) { cancel(in: service) }
    // The value to adopt may be gone by then.
    if case .commit(let commit) = request.command, commit.isAdoption, habits.evicts, chance(4) { evict(names) }
    let before = stored(names)
    keepRecent()
    try? server.send([request], from: connection.id)
    let after = stored(names)
    note("  \(names.recorded) is \(SimulatedTrace.text(after))")
    guard after != before else { return checkConflict(of: request.command, with: before, in: service) }
    adoptions[names] = nil
    guard case .commit(let commit) = request.command else {
      return record(
        RedisHistory.Commit(
          of: nil,
          to: names.recorded,
          cause: .restoration,
          before: recorder.stored(before),
          after: recorder.stored(after)
        )
      )
    }
    guard let operation = service.operations[commit.operation.number] else {
      return failed("\(service.name) commits what nobody has asked for")
    }
    if let made = after.meta { service.operations[commit.operation.number]?.made.append(made) }
    record(operation, commit, before, after)
  }

  /// Checks that a change which the server has not applied does not yield to an adoption by its own service, if the
  /// service knows of the adoption.
  private func checkConflict(of command: RedisRequest.Command, with stored: StoredValue, in service: SimulatedService) {
    guard case .commit(let commit) = command, let operation = service.operations[commit.operation.number],
      case .change = operation.purpose
    else { return }
    let expected: Revision
    switch commit.condition {
    case .replacing(let revision): expected = revision
    // Under `.reject` the change yields to the edit, whichever service has adopted it.
    case .revision(let revision) where operation.box.policy.conflict != .reject: expected = revision
    case .revision, .unconditional: return
    }
    let adoption = adoptions[commit.names]
    if expected < stored.revision, adoption?.isKnown(to: operation.box, stored: stored.revision) ?? false {
      failed("\(operation.box.place) conflicts with itself")
    }
  }

  // MARK: The history

  private func recordTouch(by command: RedisRequest.Command, _ service: SimulatedService) {
    switch command {
    case .secret(let key, _): recorder.touch([key], by: service)
    case .read(let names), .summarize(let names, _), .trackAgain(let names):
      recorder.touch(names.flatMap { [$0.value, $0.meta] }, by: service)
    case .document(let names, _): recorder.touch([names.value], by: service)
    case .subscribe(let channels), .unsubscribe(let channels): recorder.touch(channels, by: service)
    default: break
    }
  }

  /// A commit has taken effect.
  private func record(_ operation: SimulatedOperation, _ commit: Commit, _ before: StoredValue, _ after: StoredValue) {
    var written = RedisHistory.Commit(
      of: operation.box.place,
      to: commit.names.recorded,
      cause: .adoption,
      before: recorder.stored(before),
      after: recorder.stored(after)
    )
    written.base = operation.isMerged ? recorder.content(operation.stored.content) : nil
    written.condition =
      switch commit.condition {
      case .unconditional: .none
      case .revision: .revision
      case .replacing: .replacing
      }
    switch operation.purpose {
    case .change(let stamp, let changes):
      written.cause = .change(through: Int(stamp))
      written.changes = changes.map { RedisHistory.Document($0.fields) }
      if let increment = changes?.increment, increment > 0 {
        written.increments = [SimulatedDocument.sumField: increment]
      }
      written.origin = recorder.content(operation.origin)
    case .updates(let updates):
      written.cause = .updates(updates.map(\.number))
      let count = before.document.flatMap { SimulatedDocument($0) }?[.count] ?? 0
      written.changes = updates.isEmpty ? [:] : [SimulatedDocument.Field.count.key: String(count + updates.count)]
    case .reset(let stamp):
      written.cause = .reset(through: Int(stamp))
    case .repair where commit.isAdoption:
      adoptions[commit.names] = SimulatedAdoption(box: operation.box, revision: after.revision)
    case .repair: written.cause = .merge
    }
    if case .repair = operation.purpose, let verified = operation.verified.meta, let lineage = after.meta?.lineage,
      lineage.covers(verified.version)
    {
      written.includes = recorder.stored(operation.verified)
    }
    record(written)
    if case .repair = operation.purpose, written.cause == .merge, written.includes == nil {
      checkBase(of: operation, commit, before)
    }
  }

  /// Checks that a merge does not give up a lost history if the server keeps the version at which the histories parted.
  private func checkBase(of operation: SimulatedOperation, _ commit: Commit, _ stored: StoredValue) {
    guard operation.box.policy.conflict.mergesHistories, let lost = operation.verified.meta, let meta = stored.meta,
      let common = meta.lineage.commonVersion(with: lost.lineage), let key = commit.names.base(of: common),
      server.keyspace.string(key, at: server.now) != nil,
      [stored.document, operation.verified.document].allSatisfy({ $0.flatMap { SimulatedDocument($0) } != nil })
    else { return }
    failed("\(operation.box.place) gives up a lost history although the server keeps its base")
  }

  private func record(_ commit: RedisHistory.Commit) { recorder.record(.committed(commit)) }
}

extension RedisEvent {
  fileprivate var isOfVitals: Bool {
    if case .reply(_, .vitals) = self { true } else { false }
  }

  /// Whether this is the answer to a read that has found values missing.
  fileprivate var isOfMissingValue: Bool {
    if case .reply(_, .values(let values)) = self { values.contains { $0.content == .absent } } else { false }
  }
}
