@testable import SharedStateRedis

/// What has to be true once writes have stopped and everything is delivered.
extension Simulation {
  /// Nothing goes wrong any more; what is damaged is replaced.
  func calm() {
    server.faults = ServerFaults()
    for connection in connections where connection.isStalled { cut(connection) }
    for name in names {
      if case .otherType = stored(name.value).content {
        server.keyspace.remove(name.value, at: server.now)
        remember(name.value)
        endTurn()
      }
    }
  }

  /// What cannot be read is held until somebody replaces it.
  func replaceBadData() {
    for name in names where stored(name.value).document == SimulatedDocument.unreadable {
      var document = SimulatedDocument()
      document[.first] = 1
      commitFromOutside(document.data, to: name)
    }
  }

  /// Lets everything happen that is under way, and compares what comes of it.
  ///
  /// What nobody has announced is found out by comparing, once in a while.
  func converge() {
    settle()
    replaceBadData()
    settle()
    // What is announced need not wait for that.
    let isLasting = policies.values.allSatisfy { $0.timeToLive == 0 }
    if !isSomethingUntold, isLasting { for service in services where violations.isEmpty { compare(service) } }
    var before: [StoredValue] = []
    while violations.isEmpty, before != names.map({ stored($0.value) }) {
      replaceBadData()
      before = names.map { stored($0.value) }
      advance(by: SimulatedService.antiEntropy * 2)
      settle()
    }
    for service in services where violations.isEmpty { compare(service) }
    let keys = server.keyspace.keys(at: server.now)
    let known = names.flatMap { [$0.value, $0.meta, $0.operations] } + [Self.outside]
    if !known.contains(Self.outside) || !keys.allSatisfy(known.contains) { violated("Isolated: there are \(keys)") }
  }

  private func settle() {
    var waits = 0
    while violations.isEmpty {
      while violations.isEmpty, step() {}
      if services.allSatisfy(\.isQuiet) { return }
      for service in services where service.isAsleep { violated("a lost wake-up: \(service)") }
      replaceBadData()
      waits += 1
      guard waits < 100 else { return violated("stuck: \(services.map(\.description))") }
      advance(by: .milliseconds(500))
    }
  }

  func compare(_ service: SimulatedService) {
    for box in service.boxes.values.sorted(by: { $0.id < $1.id }) {
      let label = "service \(service.index), \(box.name)"
      let isGivenUp = box.hasGivenUp && !box.value.isEncodable
      let stored = stored(box.name)
      let expected =
        stored.document.map { SimulatedValue($0, release: box.release) }
        ?? SimulatedValue(default: box.release)
      if box.value != expected, !isGivenUp {
        violated("Converges: \(label) shows \(box.value), stored is \(String(describing: expected))")
      }
      let confirmed = service.link.members[box.id]?.replica.confirmed.revision ?? .none
      if confirmed != stored.revision {
        violated("ForeignEditsSeen: \(label) is at \(confirmed), stored is \(stored.revision)")
      }
      if stored.meta == nil, stored.content != .absent {
        violated("ForeignEditsSeen: what is stored of \(label) has no revision")
      }
      if box.policy.dataLoss == .reseed, box.policy.timeToLive == 0, stored.revision < box.revision {
        violated("AcknowledgedSurvives: \(label) has had \(box.revision), stored is \(stored.revision)")
      }
      if box.appliedStamp < box.stamp {
        violated("PendingSurvives: of \(box.stamp) changes of \(label) \(box.appliedStamp) were delivered")
      }
      if box.isLoading.value { violated("\(label) is loading for ever") }
      if box.hasLoadError.value { violated("\(label) has a load error for ever") }
      if box.hasSaveError.value && !box.hasGivenUp { violated("\(label) has a save error for ever") }
      if !box.hasShare { violated("\(label) is kept for ever") }
    }
    let subscriber = server.connectedClients.filter {
      $0.name == "service\(service.index)" && $0.purpose == .subscriber
    }
    let channels = Set(service.boxes.values.map(\.names.channel))
    let listens = subscriber.first?.channels.subtracting(["\(KeyNames.invalidationChannel)"])
    if service.link.session.phase == .connected, listens != channels {
      violated("service \(service.index) listens to \(subscriber.map(\.channels)), not to \(channels)")
    }
    if service.link.members.ids.count != service.boxes.count { violated("members that never leave") }
  }
}
