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
    /// How long a request and its answer take together, in milliseconds.
    var roundTrip = 0
    /// What is on its way to the server, and from it.
    var outbox: [(due: Int, purpose: ConnectionPurpose, requests: [RedisRequest])] = []
    var inbox: [(due: Int, purpose: ConnectionPurpose, events: [RedisEvent])] = []
    var calls = Calls()

    mutating func next(after report: Role<Int>.Event, now: Instant) -> Role<Int>.Step {
      role.next(after: report, in: &link, now: now)
    }
  }

  /// The calls of a service that waits for one before it makes the next.
  struct Calls {
    /// Whether one is under way.
    fileprivate(set) var isUnderWay = false
    /// How many have ended.
    fileprivate(set) var count = 0
    fileprivate(set) var errors: [RedisSharedStateError] = []
    /// How many commits in a row have conflicted, at present and at most.
    fileprivate(set) var losses = 0
    fileprivate(set) var mostLosses = 0
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
    roundTrip: (Int) -> Int = { _ in 0 },
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
      services.append(Service(link: link, id: id, roundTrip: roundTrip(index)))
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

  /// The calls of a service so far.
  func calls(of index: Int) -> Calls { services[index].calls }

  /// A service changes the value and saves it, or updates it atomically.
  mutating func call(_ index: Int, to document: String, isUpdate: Bool) throws {
    services[index].calls.isUnderWay = true
    services[index].document = Data(document.utf8)
    let id = services[index].id
    if isUpdate {
      _ = try services[index].link.update(id, now: now)
    } else {
      services[index].stamp += 1
      services[index].shown = services[index].document
      _ = try services[index].link.save(id, stamp: services[index].stamp, now: now)
    }
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

  /// Runs the services. A round trip takes at least a millisecond.
  mutating func run(for milliseconds: Int, until isOver: (LinkFleet) -> Bool = { _ in false }) throws {
    let end = self.milliseconds + milliseconds
    while self.milliseconds < end, !isOver(self) {
      self.milliseconds += 1
      server.tick(ServerTime(microseconds: Self.beginning + Int64(self.milliseconds) * 1_000))
      _ = server.endTurn()
      for index in services.indices { try deliver(index) }
      for index in services.indices { try serve(index) }
      _ = server.endTurn()
    }
  }

  /// Lets requests arrive at the server.
  private mutating func deliver(_ index: Int) throws {
    guard let connections = services[index].connections else { return }
    while let first = services[index].outbox.first, first.due <= milliseconds {
      services[index].outbox.removeFirst()
      try server.send(first.requests, from: connections[first.purpose])
    }
  }

  private mutating func serve(_ index: Int) throws {
    guard let connections = services[index].connections else { return }
    let due = milliseconds + services[index].roundTrip - services[index].roundTrip / 2
    for purpose in ConnectionPurpose.allCases where server.hasOutput(for: connections[purpose]) {
      services[index].inbox.append((due, purpose, try server.takeOutput(for: connections[purpose])))
    }
    let isDue = services[index].inbox.first.map { $0.due <= milliseconds } ?? false
    guard services[index].wakeUp <= now || isDue else { return }
    var arrivals = PerConnection { _ in Arrivals() }
    while let first = services[index].inbox.first, first.due <= milliseconds {
      services[index].inbox.removeFirst()
      arrivals[first.purpose].events += first.events
      for case .reply(_, .commit(let reply)) in first.events { services[index].calls.note(reply) }
    }
    try proceed(index, after: .arrived(arrivals))
  }

  /// Runs the thread of a service until it sleeps.
  private mutating func proceed(_ index: Int, after report: Role<Int>.Event) throws {
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
          let roundTrip = services[index].roundTrip
          if roundTrip < 2 {
            try server.send(requests[purpose], from: connections[purpose])
          } else if !requests[purpose].isEmpty {
            services[index].outbox.append((milliseconds + roundTrip / 2, purpose, requests[purpose]))
          }
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
    case .encode(let id, let encoding, _, _):
      let documents = Replica.Documents(encoded: document, merged: document)
      // Updates settle no change.
      let stamp = encoding.updates.isEmpty ? stamp : 0
      return .encoded(id, Replica.Encoded(stamp: stamp, result: .success(documents)))
    case .resume(_, let error, _, _):
      services[index].calls.end(error)
    default: break
    }
    return nil
  }
}

extension LinkFleet.Calls {
  fileprivate mutating func note(_ reply: CommitReply) {
    switch reply {
    case .committed: losses = 0
    case .conflict: losses += 1
    case .held, .wrongType: break
    }
    mostLosses = max(mostLosses, losses)
  }

  fileprivate mutating func end(_ error: RedisSharedStateError?) {
    (isUnderWay, count) = (false, count + 1)
    if let error { errors.append(error) }
  }
}

@Suite("A fleet whose services are at different distances", .timeLimit(.minutes(5)))
struct LinkFleetTurnsTests {
  private static let services = 50

  /// Services with a round trip of 0 to 200 milliseconds. Each makes a call after the other, half of them atomic
  /// updates, with pauses.
  private func fleet(pause: Int, seed: UInt64, milliseconds: Int) throws -> LinkFleet {
    var fleet = try LinkFleet(
      services: Self.services,
      roundTrip: { $0 * 200 / (Self.services - 1) },
      seed: seed,
      document: "\"000000\""
    )
    // They begin at different times.
    var next = (0..<Self.services).map { fleet.milliseconds + $0 * pause / Self.services }
    var number = 0
    let end = fleet.milliseconds + milliseconds
    while fleet.milliseconds < end {
      for index in 0..<Self.services where !fleet.calls(of: index).isUnderWay && next[index] <= fleet.milliseconds {
        number += 1
        try fleet.call(index, to: String(format: "\"%06d\"", number), isUpdate: number.isMultiple(of: 2))
        next[index] = fleet.milliseconds + pause
      }
      try fleet.run(for: 1)
    }
    return fleet
  }

  @Test("Fair: nobody among 50 services at 0 to 200 milliseconds conflicts ten times in a row, however busy all are")
  func busy() throws {
    let fleet = try fleet(pause: 0, seed: 1, milliseconds: 5_000)
    for index in 0..<Self.services {
      #expect(fleet.calls(of: index).mostLosses < Turns.commitsForReservation, "service \(index)")
    }
  }

  @Test("Fair: every save and update of 50 services with pauses succeeds, with nine conflicts in a row at most")
  func usual() throws {
    let fleet = try fleet(pause: 8_000, seed: 2, milliseconds: 22_000)
    for index in 0..<Self.services {
      let calls = fleet.calls(of: index)
      #expect(calls.errors == [])
      #expect(calls.count >= 2)
      #expect(calls.mostLosses < Turns.commitsForReservation, "service \(index)")
    }
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
