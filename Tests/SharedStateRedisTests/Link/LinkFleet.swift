import Foundation
import Testing

@testable import SharedStateRedis

/// Services on one server that share one value. They have a simulated clock, and neither threads nor randomness.
struct LinkFleet {
  static let names = KeyNames(namespace: "", name: "a", database: 0)
  private static let beginning: Int64 = 1_000_000_000_000_000

  private struct Service {
    var link: LinkState
    var role = Role<Int>()
    let id: LinkState.ReplicaID
    /// `nil` if the service was killed.
    var connections: PerConnection<Int>?
    /// The time until which its thread sleeps.
    var wakeUp = Instant.past
    var shown: Data?
    var stamp: UInt64 = 0
    var document = Data()

    mutating func next(after report: Role<Int>.Report, now: Instant) -> Role<Int>.Step {
      role.next(after: report, in: &link, now: now)
    }
  }

  private var server = InProcessServer()
  private var services: [Service] = []
  private let start = Instant.now
  private(set) var milliseconds = 0

  private var now: Instant { start + .milliseconds(milliseconds) }

  /// Makes services that are all connected and show the document.
  init(
    services count: Int,
    namespace: String = "",
    antiEntropy: Duration = .seconds(60),
    seed: UInt64,
    document: String
  ) throws {
    server.tick(ServerTime(microseconds: Self.beginning))
    server.keyspace.set(Self.names.value, .string(Data(document.utf8)))
    for index in 0..<count {
      var configuration = LinkState.make().configuration
      configuration.nonce = "n\(index)"
      configuration.antiEntropy = antiEntropy
      configuration.writer = "test@host/1/n\(index)"
      var link = LinkState(configuration: configuration, seed: seed &* 1_000 &+ UInt64(index))
      let policy = ReplicaPolicy(writer: configuration.writer)
      let id = try link.join(Self.names, name: "a", valueType: "Text", policy: policy)
      services.append(Service(link: link, id: id))
      try proceed(index, after: .nothing)
    }
    try run(for: 2_000)
  }

  /// Whether all services from an index on show the document.
  func shows(_ document: String, from first: Int = 0) -> Bool {
    services[first...].allSatisfy { $0.shown == Data(document.utf8) }
  }

  mutating func change(_ index: Int, to document: String) {
    services[index].stamp += 1
    services[index].document = Data(document.utf8)
    services[index].shown = services[index].document
    services[index].link.changed(services[index].id)
    for effect in services[index].link.takeEffects() { _ = perform(effect, in: index) }
  }

  /// Writes the value without a revision, as a program outside the library does.
  mutating func edit(_ document: String) {
    server.keyspace.set(Self.names.value, .string(Data(document.utf8)))
    _ = server.endTurn()
  }

  /// Kills a service: its connections close.
  mutating func kill(_ index: Int) {
    for connection in services[index].connections.take()?.values ?? [] { server.close(connection) }
  }

  /// Runs the services. A round trip takes a millisecond.
  mutating func run(for milliseconds: Int, until isOver: (LinkFleet) -> Bool = { _ in false }) throws {
    let end = self.milliseconds + milliseconds
    while self.milliseconds < end, !isOver(self) {
      self.milliseconds += 1
      server.tick(ServerTime(microseconds: Self.beginning + Int64(self.milliseconds) * 1_000))
      _ = server.endTurn()
      for index in services.indices { try serve(index) }
      _ = server.endTurn()
    }
  }

  private mutating func serve(_ index: Int) throws {
    guard let connections = services[index].connections else { return }
    let hasOutput = connections.values.contains { server.hasOutput(for: $0) }
    guard services[index].wakeUp <= now || hasOutput else { return }
    try proceed(index, after: .arrived(PerConnection { Arrivals(try server.takeOutput(for: connections[$0])) }))
  }

  /// Runs the thread of a service until it sleeps.
  private mutating func proceed(_ index: Int, after report: Role<Int>.Report) throws {
    var report = report
    while true {
      switch services[index].next(after: report, now: now) {
      case .perform(let effects):
        report = .performed(effects.compactMap { perform($0, in: index) })
      case .connect:
        let connections = try PerConnection { purpose in
          try #require(try server.connect(name: "\(index)", purpose: purpose, waker: Waker()))
        }
        services[index].connections = connections
        report = .opened(connections, PerConnection { server.facts(for: connections[$0]) })
      case .exchange(let connections, let requests, let until):
        services[index].wakeUp = until
        for purpose in [ConnectionPurpose.subscriber, .writer] {
          try server.send(requests[purpose], from: connections[purpose])
        }
        return
      case .close, .wait, .end:
        Issue.record("A connection breaks.")
        return
      }
    }
  }

  private mutating func perform(_ effect: LinkState.Effect, in index: Int) -> LinkState.Effect.Outcome? {
    let (stamp, document) = (services[index].stamp, services[index].document)
    switch effect {
    case .wake:
      services[index].wakeUp = now
    case .show(let id, let toShow, _):
      guard toShow.stamp == stamp else { return .shown(id, toShow, .superseded) }
      services[index].shown = toShow.state.content.document
      return .shown(id, toShow, .shown)
    case .encode(let id, _, _, _):
      let documents = Replica.Documents(encoded: document, merged: document)
      return .encoded(id, Replica.Encoded(stamp: stamp, result: .success(documents)))
    default: break
    }
    return nil
  }
}

@Suite("A fleet whose value is edited", .timeLimit(.minutes(5)))
struct LinkFleetTests {
  /// A document. All have the same length, so that the length does not reveal an edit.
  private func document(_ number: Int, isLarge: Bool) -> String {
    String(format: "\"%06d", number) + String(repeating: "x", count: isLarge ? 2_000 : 10) + "\""
  }

  @Test("ForeignEditsSeen: an edit of a quiet value is seen within 50 milliseconds", arguments: [false, true])
  func quiet(isLarge: Bool) throws {
    for seed in 1...10 as ClosedRange<UInt64> {
      var fleet = try LinkFleet(services: 10, seed: seed, document: document(0, isLarge: isLarge))
      #expect(fleet.shows(document(0, isLarge: isLarge)))
      let edited = document(1, isLarge: isLarge)
      fleet.edit(edited)
      try fleet.run(for: 50) { $0.shows(edited) }
      #expect(fleet.shows(edited), "seed \(seed)")
    }
  }

  @Test(
    "ForeignEditsSeen: an edit of a hot value is seen within 1.1 seconds, or at anti-entropy if the writer dies",
    arguments: [false, true],
    [false, true]
  )
  func hot(isLarge: Bool, dies: Bool) throws {
    for seed in 1...10 as ClosedRange<UInt64> {
      func document(_ number: Int) -> String { self.document(number, isLarge: isLarge) }
      let antiEntropy = Duration.seconds(dies ? 2 : 60)
      var fleet = try LinkFleet(services: 4, antiEntropy: antiEntropy, seed: seed, document: document(0))
      for number in 1...30 {
        fleet.change(0, to: document(number))
        try fleet.run(for: 100)
      }
      fleet.change(0, to: document(31))
      // After this, the server has the change.
      try fleet.run(for: 2)
      let edited = document(99)
      fleet.edit(edited)
      if dies { fleet.kill(0) }
      let first = dies ? 1 : 0
      try fleet.run(for: dies ? 3_000 : 1_100) { $0.shows(edited, from: first) }
      #expect(fleet.shows(edited, from: first), "seed \(seed)")
    }
  }
}
