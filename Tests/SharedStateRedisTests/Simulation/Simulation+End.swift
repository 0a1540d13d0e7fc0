@testable import SharedStateRedis

/// What has to be true once writes have stopped and everything is delivered.
extension Simulation {
  /// Nothing goes wrong any more; what is damaged is replaced.
  func calm() {
    server.faults = ServerFaults()
    for connection in connections where connection.isStalled { cut(connection) }
    for name in names where stored(name).content == .document(SimulatedDocument.unreadable) {
      let value = SimulatedDocument.encode(makeValue())
      while stored(name).content != .document(value) { commitFromOutside(value) }
    }
  }

  /// Lets everything happen that is under way, and compares what comes of it.
  func converge() {
    var waits = 0
    while violations.isEmpty {
      while violations.isEmpty, step() {}
      if services.allSatisfy(\.isQuiet) { break }
      for service in services where service.isAsleep { violated("a lost wake-up: \(service)") }
      waits += 1
      guard waits < 100 else { return violated("stuck: \(services.map(\.description))") }
      advance(by: .milliseconds(500))
    }
    for service in services where violations.isEmpty { compare(service) }
  }

  func compare(_ service: SimulatedService) {
    for box in service.boxes.values.sorted(by: { $0.id < $1.id }) {
      let label = "service \(service.index), \(box.name)"
      let isGivenUp = box.hasGivenUp && box.value.isMultiple(of: 11)
      if case .document(let document) = stored(box.name).content {
        if SimulatedDocument.decode(document) != box.value && !isGivenUp {
          violated("Converges: \(label) shows \(box.value), stored is \(String(decoding: document, as: UTF8.self))")
        }
      } else if box.value != 0 && !isGivenUp {
        violated("Converges: \(label) shows \(box.value), nothing is stored")
      }
      if box.isLoading.value { violated("\(label) is loading for ever") }
      if box.hasLoadError.value { violated("\(label) has a load error for ever") }
      if box.hasSaveError.value && !box.hasGivenUp { violated("\(label) has a save error for ever") }
      if !box.hasShare { violated("\(label) is kept for ever") }
    }
    let subscriber = server.connectedClients.filter {
      $0.name == "service\(service.index)" && $0.purpose == .subscriber
    }
    let channels = Set(service.boxes.values.map { "changes:{\($0.name)}" })
    let listens = subscriber.first?.channels.subtracting(["\(KeyNames.invalidationChannel)"])
    if service.link.session.phase == .connected, listens != channels {
      violated("service \(service.index) listens to \(subscriber.map(\.channels)), not to \(channels)")
    }
    if service.link.members.ids.count != service.boxes.count { violated("members that never leave") }
  }
}
