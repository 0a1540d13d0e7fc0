import Foundation
@testable import SharedStateRedis

/// What reaches the server, and whether that is right.
extension Simulation {
  /// Some of what was sent reaches the server.
  func reach(_ connection: SimulatedConnection) {
    let count = Int.random(in: 1...connection.outbox.count, using: &random)
    let requests = Array(connection.outbox.prefix(count))
    connection.outbox.removeFirst(count)
    for request in requests { carryOut(request, from: connection) }
    endTurn()
  }

  /// The server's loop goes round: whoever tracks keys is told, and what is for somebody is on its way.
  func endTurn() {
    _ = server.endTurn()
    for connection in connections where !connection.isBroken && server.hasOutput(for: connection.id) {
      connection.inbox += (try? server.takeOutput(for: connection.id)) ?? []
    }
  }

  func stored(_ name: String) -> StoredValue {
    guard let names = names.first(where: { $0.value == name }) else { return StoredValue(meta: nil, content: .absent) }
    return server.keyspace.stored(names, at: server.now)
  }

  private func carryOut(_ request: RedisRequest, from connection: SimulatedConnection) {
    let touched: KeyNames
    switch request.command {
    case .commit(let commit): touched = commit.names
    case .restore(let restore): touched = restore.names
    case .ping, .role, .track, .read, .subscribe, .unsubscribe:
      checkIsolation(of: request.command)
      note("server < service \(connection.service.index): \(SimulatedTrace.text(request))")
      try? server.send([request], from: connection.id)
      return
    }
    if !names.contains(touched) { violated("Isolated: \(touched.value) is written") }
    let before = stored(touched.value)
    note("server < service \(connection.service.index): \(SimulatedTrace.text(request))")
    try? server.send([request], from: connection.id)
    let after = stored(touched.value)
    note("  \(touched.value) is \(SimulatedTrace.text(after))")
    guard after != before else { return }
    if after.revision < before.revision { violated("Ordered: the server went from \(before.revision) back") }
    switch request.command {
    case .commit(let commit):
      guard let operation = connection.service.operations[commit.operation.number] else {
        return violated("service \(connection.service.index) commits what nobody has asked for")
      }
      applied(operation, commit, before, after, connection.service)
    default:
      let known = contents[touched.value]?[after.revision] ?? []
      if !known.contains(after.content) {
        violated("AcknowledgedSurvives: \(touched.value) was restored at \(after.revision) with \(after), not \(known)")
      }
    }
    remember(touched.value)
  }

  private func checkIsolation(of command: RedisRequest.Command) {
    switch command {
    case .read(let keys) where !keys.allSatisfy(names.contains):
      violated("Isolated: \(keys.map(\.value)) are read")
    case .subscribe(let channels), .unsubscribe(let channels):
      let known = names.map(\.channel) + ["\(KeyNames.invalidationChannel)"]
      if !channels.allSatisfy(known.contains) { violated("Isolated: \(channels) are listened to") }
    default: break
    }
  }

  /// A commit has taken effect.
  private func applied(
    _ operation: SimulatedOperation,
    _ commit: Commit,
    _ before: StoredValue,
    _ after: StoredValue,
    _ service: SimulatedService
  ) {
    let name = commit.names.value
    switch operation.purpose {
    case .change(let stamp, let fields):
      authors[name, default: [:]][after.revision] = service.index
      operation.box.appliedStamp = max(operation.box.appliedStamp, stamp)
      checkBadData(commit, before, by: service)
      if case .replacing = commit.condition { return }
      checkFields(of: operation, before, after, by: service) { fields[$0] ?? $1 }
    case .updates(let updates):
      checkBadData(commit, before, by: service)
      for update in updates { count(update, in: name) }
      checkFields(of: operation, before, after, by: service) { field, number in
        field == .count && !updates.isEmpty ? (number ?? 0) + updates.count : number
      }
    case .reset(let stamp):
      operation.box.appliedStamp = max(operation.box.appliedStamp, stamp)
    case .repair:
      if after.content != before.content { violated("ForeignEditsSeen: adopting \(name) has changed it") }
    }
  }

  private func count(_ update: SimulatedUpdate, in name: String) {
    update.effects += 1
    if update.effects > 1, update.restarts == restarts {
      violated("ExactlyOnceUpdates: an update of \(name) took effect \(update.effects) times")
    }
    if update.answer == .failed { violated("ExactlyOnceUpdates: an update of \(name) that had failed took effect") }
  }

  private func checkBadData(_ commit: Commit, _ before: StoredValue, by service: SimulatedService) {
    guard case .revision(let revision) = commit.condition, before.document == SimulatedDocument.unreadable else {
      return
    }
    // It may have been written over what was there, by somebody who has not told.
    guard contents[commit.names.value]?[revision] == [before.content] else { return }
    violated("BadDataHeld: service \(service.index) overwrites the unreadable \(commit.names.value)")
  }

  /// - Parameter expected: What a field is to be, given what others had made of it.
  private func checkFields(
    of operation: SimulatedOperation,
    _ before: StoredValue,
    _ after: StoredValue,
    by service: SimulatedService,
    expected: (SimulatedDocument.Field, Int?) -> Int?
  ) {
    guard operation.isMerged, operation.stored.content == before.content else { return }
    guard let theirs = before.document.flatMap({ SimulatedDocument($0) }), let document = after.document else { return }
    guard let merged = SimulatedDocument(document) else { return violated("FieldsMerge: a merge made \(document)") }
    for field in SimulatedDocument.Field.allCases where merged[field] != expected(field, theirs[field]) {
      violated(
        """
        FieldsMerge: service \(service.index) made \(merged) of \(theirs) in \(operation.box.name): \(field) is to be \
        \(expected(field, theirs[field]).map(String.init) ?? "absent")
        """
      )
    }
  }
}
