import Foundation
@testable import SharedStateRedis

/// One schedule: a few services on one server, every step of every thread in random order, and whatever can go wrong.
///
/// Everything follows from the seed. There is no thread, no clock and no lock in it; the steps between which a real
/// thread can be interrupted are steps of their own.
final class Simulation {
  let seed: UInt64
  var random: SplitMix64
  var server = InProcessServer()
  var now = ContinuousClock.now
  var elapsed = Duration.zero
  let services: [SimulatedService]
  var connections: [SimulatedConnection] = []
  let names: [String]
  let habits: SimulatedHabits
  let outsider: Int
  let waker = Waker()

  /// The guarantees that were broken.
  private(set) var violations: [String] = []
  /// Who made which revision of a name.
  var authors: [String: [Revision: Int]] = [:]
  var nextValue = 1
  var nextOutsideOperation: UInt64 = 1

  init(seed: UInt64) {
    self.seed = seed
    random = SplitMix64(seed: seed)
    server.tick(ServerTime(microseconds: 1_000))
    outsider = (try? server.connect(name: "outsider", purpose: .writer, waker: waker)).flatMap(\.self) ?? 0
    habits = SimulatedHabits(using: &random)
    names = Array(["a", "b", "c"].prefix(Int.random(in: 1...3, using: &random)))
    let count = Int.random(in: 1...3, using: &random)
    services = (0..<count).map { SimulatedService(index: $0, restsWhenUnused: $0 == 1, seed: seed &+ UInt64($0)) }
  }

  /// Runs the schedule, and says what went wrong, if anything did.
  func run(steps: Int) -> [String] {
    for _ in 0..<steps where violations.isEmpty {
      if chance(habits.patience) { disturb() } else if chance(habits.calmness) { use() } else { step() }
    }
    if violations.isEmpty { calm() }
    if violations.isEmpty { converge() }
    return violations
  }

  // MARK: Chance

  func chance(_ sides: Int) -> Bool { Int.random(in: 0..<sides, using: &random) == 0 }

  func any<Elements: Collection>(_ elements: Elements) -> Elements.Element? {
    elements.randomElement(using: &random)
  }

  func advance(by duration: Duration) {
    now += duration
    elapsed += duration
    server.tick(ServerTime(microseconds: 1_000 + elapsed.wholeMicroseconds))
  }

  // MARK: What goes wrong

  func disturb() {
    switch any(habits.disturbances) {
    case .cut:
      if let connection = any(connections) { cut(connection) }
    case .stall:
      any(connections)?.isStalled = true
    case .refuseConnections:
      server.faults.connectionError = server.faults.connectionError == nil ? .unreachable(reason: "simulated") : nil
    case .refuseWrites:
      server.faults.writeError = server.faults.writeError == nil ? .serverError(code: "OOM") : nil
    case .unreadable:
      commitFromOutside(SimulatedDocument.unreadable)
    case .outsider:
      commitFromOutside(SimulatedDocument.encode(makeValue()))
    case .longPause:
      advance(by: .seconds(6))
    case .recover, nil:
      server.faults.connectionError = nil
      server.faults.writeError = nil
    case .time:
      advance(by: .milliseconds(Int.random(in: 0...500, using: &random)))
    }
  }

  /// Breaks a connection: what is on its way to the server is lost, and some of what is on its way back.
  func cut(_ connection: SimulatedConnection) {
    connection.outbox = []
    connection.inbox = Array(connection.inbox.prefix(Int.random(in: 0...connection.inbox.count, using: &random)))
    connection.isBroken = true
    connection.isStalled = false
    server.close(connection.id)
  }

  func commitFromOutside(_ document: Data) {
    guard let name = any(names) else { return }
    let commit = Commit(
      names: KeyNames(namespace: "", name: name, database: 0),
      content: .document(document, isLarge: document.count > SimulatedDocument.inlineLimit),
      condition: .unconditional,
      floor: .none,
      operation: Operation(writer: "outsider", number: nextOutsideOperation),
      writer: "outsider@host/1/outsider"
    )
    nextOutsideOperation += 1
    let error = server.faults.writeError.take()
    carryOut([RedisRequest(id: nextOutsideOperation, command: .commit(commit))], from: outsider, by: -1)
    server.faults.writeError = error
    _ = try? server.takeOutput(for: outsider)
  }

  func makeValue() -> Int {
    defer { nextValue += 1 }
    return nextValue
  }

  // MARK: Steps

  typealias Step = () -> Void

  @discardableResult
  func step() -> Bool {
    var steps: [Step] = []
    for connection in connections where !connection.outbox.isEmpty && !connection.isStalled {
      steps.append { [self] in reach(connection) }
    }
    for service in services {
      for caller in service.callers { steps.append { [self] in proceed(caller, in: service) } }
      for thread in service.threads where canProceed(thread) {
        steps.append { [self] in proceed(thread, in: service) }
      }
    }
    guard let step = any(steps) else { return false }
    step()
    return true
  }

  /// Some of what was sent reaches the server.
  func reach(_ connection: SimulatedConnection) {
    let count = Int.random(in: 1...connection.outbox.count, using: &random)
    let requests = Array(connection.outbox.prefix(count))
    connection.outbox.removeFirst(count)
    let owner = services.first { $0.threads.contains { $0.open?.connection === connection } }
    carryOut(requests, from: connection.id, by: owner?.index ?? -2)
  }

  func carryOut(_ requests: [RedisRequest], from id: Int, by writer: Int) {
    for request in requests {
      let before = revision(of: request)
      try? server.send([request], from: id)
      guard case .commit(let commit) = request.command, let after = revision(of: request), after != before else {
        continue
      }
      authors[commit.names.value, default: [:]][after] = writer
      guard writer >= 0, let operation = services[writer].operations[commit.operation.number] else { continue }
      operation.box.appliedStamp = max(operation.box.appliedStamp, operation.stamp)
    }
    for connection in connections where !connection.isBroken {
      connection.inbox += (try? server.takeOutput(for: connection.id)) ?? []
    }
  }

  func revision(of request: RedisRequest) -> Revision? {
    guard case .commit(let commit) = request.command else { return nil }
    return revision(of: commit.names.value)
  }

  func revision(of name: String) -> Revision {
    stored(name).meta?.revision ?? .none
  }

  func stored(_ name: String) -> StoredValue {
    server.keyspace.stored(KeyNames(namespace: "", name: name, database: 0), at: server.now)
  }

  func violated(_ text: String) {
    violations.append(text)
  }
}
