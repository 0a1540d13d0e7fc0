import SharedState
import SharedStateRedisTesting

@testable import SharedStateRedis

/// The end of a schedule: writes stop, everything is delivered, and the result is checked.
extension Simulation {
  /// Ends all disturbances, and removes keys of a wrong type.
  func calm() {
    recover()
    for connection in connections where connection.isStalled { cut(connection) }
    for name in names {
      if case .otherType = stored(name).content {
        server.keyspace.remove(name.value, at: server.now)
        recordEdit(of: name)
        endTurn()
      }
    }
  }

  /// Replaces unreadable values, which services would otherwise keep.
  func replaceBadData() {
    for name in names where stored(name).document == SimulatedDocument.unreadable {
      commitFromOutside(makeDocument(), to: name)
    }
  }

  /// Lets everything that is under way finish, and records the result.
  ///
  /// Changes that were not announced are found by anti-entropy.
  func converge() {
    settle()
    replaceBadData()
    settle()
    // If every change was announced, all values have to agree before anti-entropy.
    let isLasting = policies.values.allSatisfy { $0.timeToLive == 0 }
    if failures.isEmpty, !hasUnnotifiedChange, isLasting { rest(keys: nil) }
    var before: [StoredValue] = []
    var rounds = 0
    while failures.isEmpty, before != names.map({ stored($0) }) {
      rounds += 1
      guard rounds < 100 else { return failed("never at rest: \(services.map(\.description))") }
      replaceBadData()
      before = names.map { stored($0) }
      advance(by: SimulatedService.antiEntropy * 2)
      settle()
    }
    if failures.isEmpty { rest(keys: server.keyspace.keys(at: server.now)) }
  }

  private static let tick = Duration.milliseconds(500)

  /// Lets time pass until no service has work left. Refused commits are retried within the longest pause, and then
  /// everything has to end.
  func settle() {
    var waits = 0
    var steps = 0
    while failures.isEmpty {
      while failures.isEmpty, step(isCalm: true) {
        steps += 1
        if steps > 100_000 { failed("never calm: \(services.map(\.description))") }
      }
      if services.allSatisfy(\.isQuiet) { return }
      for service in services where service.isAsleep { failed("a lost wake-up: \(service)") }
      replaceBadData()
      waits += 1
      guard Self.tick * waits <= LinkState.Patience.longestPauseAfterRefusal else {
        return failed("stuck: \(services.map(\.description))")
      }
      advance(by: Self.tick)
    }
  }

  /// Records that the services are at rest.
  private func rest(keys: [String]?) {
    var rest = RedisHistory.Rest(stored: [:], boxes: [], keys: keys)
    for name in names { rest.stored[name.recorded] = recorder.stored(stored(name)) }
    for service in services {
      for box in service.boxes.values.sorted(by: { $0.id < $1.id }) {
        let revision = service.link.members[box.id]?.replica.confirmed.storedRevision ?? .none
        rest.boxes.append(.init(box.place, box.value.document.recorded, revision: revision.rawValue))
      }
      inspect(service)
    }
    recorder.record(.rested(rest))
  }

  /// Checks the conditions on a service at rest that no guarantee covers.
  private func inspect(_ service: SimulatedService) {
    for box in service.boxes.values.sorted(by: { $0.id < $1.id }) {
      if box.isLoading.value { failed("\(box.place) is loading for ever") }
      if box.hasLoadError.value { failed("\(box.place) has a load error for ever") }
      if box.hasSaveError.value && !box.hasGivenUp { failed("\(box.place) has a save error for ever") }
      if box.wasForbidden, box.names == names[0] { failed("\(box.place) was refused what is always permitted") }
      if !box.hasShare { failed("\(box.place) is kept for ever") }
    }
    let subscriber = server.connectedClients.filter {
      $0.name == "service\(service.index)" && $0.purpose == .subscriber
    }
    let channels = Set(service.boxes.values.map { Name($0.names.channel) })
    let listens = subscriber.first?.channels.subtracting([Name("\(KeyNames.invalidationChannel)")])
    if service.link.session.phase == .connected, listens != channels {
      failed("\(service.name) listens to \(subscriber.map(\.channels)), not to \(channels)")
    }
    if service.link.session.phase == .connected, !service.link.isLive { failed("\(service.name) is never live") }
    if service.link.members.ids.count != service.boxes.count { failed("members that never leave") }
  }
}
