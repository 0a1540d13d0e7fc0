import Foundation
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting

/// One schedule: a few services on one server, the steps of all threads in random order, and everything that can go
/// wrong.
///
/// The seed decides everything. The simulation uses no thread, no clock and no lock. Wherever a real thread can be
/// interrupted, one simulated step ends and another begins.
///
/// A review once found bugs that the simulation had missed. It only finds bugs in behaviour that it models, so ask
/// these questions about every bug:
///
/// | What was wrong | Why no schedule had found it | What finds it now |
/// | --- | --- | --- |
/// | a deletion came back | no schedule with evictions had deletions | `foreignDelete` there, and ``RedisHistory/Event/deleted(name:)`` |
/// | `flush()` did not report a change that was given up | the outcomes of flushes were not recorded | ``RedisHistory/Event/flushed(service:reportsGivenUp:)`` |
/// | two spellings of "é" were one value | the names were a, b and c | a quarter of the schedules has both |
/// | a revision near 2^53 was the last one | nothing was forged | `forgeMessage`, `forgeMeta` |
/// | one forbidden name stopped all others | all services had all rights | `forbid`, `permit`: the first name is never refused |
/// | slow code of the program delayed other values | a closure that encodes, updates or observes is one step here | tests with threads, and `hold` for `withLock` |
/// | retries cost too much | requests are not counted | tests of `LinkState` with a clock |
/// | one value broke the connection for all | connections broke only at random | `poison` |
final class Simulation {
  let seed: UInt64
  var random: SplitMix64
  /// The primary. During a visit to the former primary: that one.
  var server = InProcessServer()
  /// The number of that server.
  var here = 0
  /// While two servers are primaries: the other one.
  var other: (number: Int, server: InProcessServer)?
  var now = Instant.now
  var elapsed = Duration.zero
  var services: [SimulatedService] = []
  var connections: [SimulatedConnection] = []
  let namespace: String
  let names: [KeyNames]
  let policies: [KeyNames: ReplicaPolicy]
  let habits: SimulatedHabits
  let waker = Waker()
  /// Receives a description of each event, for debugging.
  var onEvent: ((String) -> Void)?

  /// Records the history that is checked against the guarantees at the end.
  let recorder = SimulatedRecorder()
  /// Failures that no guarantee covers: a thread that sleeps for ever, an error that stays.
  private(set) var failures: [String] = []
  /// The value whose commits break the connection, as if a device between the services and the server closed it.
  var poison: KeyNames?
  var snapshot = Keyspace()
  /// The last announcements of the server, as a client that listens has recorded them.
  var announcements: [(channel: String, payload: Data)] = []
  /// The data of the server before each of the last commits, which is the data of a lagging replica.
  private(set) var recent: [Keyspace] = []
  /// The values whose revision is still the one that a service gave to an edit.
  var adoptions: [KeyNames: SimulatedAdoption] = [:]
  /// How often the server has lost data, intentionally or not.
  var losses = 0
  /// Whether something happened that services can only find by anti-entropy.
  var hasUnnotifiedChange = false
  var nextValue = 1
  var nextUpdate = 1
  var nextOutsideOperation: UInt64 = 1
  private var nextService = 0

  init(seed: UInt64) {
    self.seed = seed
    random = SplitMix64(seed: seed)
    server.tick(Self.beginning)
    habits = SimulatedHabits(using: &random)
    let namespace = ["", "ns:"].randomElement(using: &random) ?? ""
    self.namespace = namespace
    // Unicode regards the last two as equal.
    let texts = Int.random(in: 0..<4, using: &random) == 0 ? ["a", "\u{E9}", "e\u{301}"] : ["a", "b", "c"]
    names = texts.prefix(Int.random(in: habits.countsOfNames, using: &random)).map {
      KeyNames(namespace: namespace, name: $0, database: 0)
    }
    policies = Self.makePolicies(names, &random)
    recordRules()
    for _ in 0..<Int.random(in: habits.countsOfServices, using: &random) { startService() }
    recover()
    server.keyspace.set(Self.outside, .string(Data()))
  }

  /// Breaks the reference cycle of service, thread and connection, because millions of schedules run in one process.
  deinit {
    for service in services { service.letGoOfConnections() }
  }

  /// Late enough that no clock jumps back to before 1970.
  static let beginning = ServerTime(microseconds: 1_000_000_000_000_000)
  /// The secret of worlds in which no secret is lost.
  static let secret: Secret = {
    var random = SplitMix64(seed: 0)
    return Secret(using: &random)
  }()
  /// A key that no service uses.
  static let outside = "outside"

  private static func makePolicies(_ names: [KeyNames], _ random: inout SplitMix64) -> [KeyNames: ReplicaPolicy] {
    Dictionary(
      uniqueKeysWithValues: names.map { name in
        var policy = ReplicaPolicy(inlineLimit: SimulatedDocument.inlineLimit, writer: "")
        policy.conflict =
          [ConflictPolicy.merge, .merge, .merge, .lastWriteWins, .reject][Int.random(in: 0..<5, using: &random)]
        if Int.random(in: 0..<4, using: &random) == 0 { policy.dataLoss = .adoptServer }
        if Int.random(in: 0..<4, using: &random) == 0 { policy.timeToLive = 400 }
        return (name, policy)
      }
    )
  }

  private func recordRules() {
    for name in names {
      guard let policy = policies[name] else { continue }
      let rules = RedisHistory.Rules(
        followsLosses: policy.dataLoss == .adoptServer,
        expires: policy.timeToLive > 0,
        isWatched: true
      )
      recorder.record(.declared(name: name.recorded, rules))
    }
    // A server that evicts keys may have forgotten every operation that was applied to a missing value.
    if habits.evicts { recorder.record(.forgotten) }
    // Behind it stands the version that the key keeps.
    func bases(_ names: KeyNames) -> String { names.meta.replacing("meta:", with: "base:", maxReplacements: 1) + ":*" }
    let permitted = names.flatMap { $0.scriptKeys + [$0.channel, bases($0)] }
    recorder.record(.permitted(permitted + ["\(KeyNames.invalidationChannel)"], others: [Self.outside]))
  }

  /// In some worlds every document counts as large, and services trust its summary. They then only find an edit of the
  /// same length, made while they were not connected, by anti-entropy.
  var smallDocument: Int { seed.isMultiple(of: 3) ? 0 : 1_024 }

  func startService() {
    let release = [.present, .present, .older].randomElement(using: &random) ?? SimulatedValue.Release.present
    services.append(
      SimulatedService(
        index: nextService,
        release: release,
        namespace: namespace,
        restsWhenUnused: nextService == 1,
        smallDocument: smallDocument,
        seed: seed &+ UInt64(nextService)
      )
    )
    nextService += 1
  }

  /// Runs the schedule, checks its history, and returns descriptions of all failures.
  ///
  /// - Parameter steps: The number of steps before the schedule ends its disturbances; `nil`: the seed decides.
  func run(steps: Int? = nil) -> [String] {
    if habits.startsCalmly {
      for service in services { share(in: service) }
      settle()
    }
    for _ in 0..<(steps ?? habits.steps) where failures.isEmpty {
      if chance(habits.patience) { disturb() } else if chance(habits.calmness) { use() } else { step() }
    }
    if failures.isEmpty { calm() }
    if failures.isEmpty { converge() }
    return recorder.history.violations().map(\.description) + failures
  }

  // MARK: Chance

  func chance(_ sides: Int) -> Bool { Int.random(in: 0..<sides, using: &random) == 0 }

  func any<Elements: Collection>(_ elements: Elements) -> Elements.Element? {
    elements.randomElement(using: &random)
  }

  /// Keeps the data of the server, because a commit is about to change it.
  func keepRecent() {
    recent = recent.suffix(3) + [server.keyspace]
  }

  func makeValue() -> Int {
    defer { nextValue += 1 }
    return nextValue
  }

  func note(_ text: @autoclosure () -> String) {
    if let onEvent { onEvent(text()) }
  }

  func failed(_ text: String) {
    failures.append(text)
  }

  // MARK: Steps

  private enum Step {
    case reach(SimulatedConnection)
    case caller(SimulatedService.Caller, SimulatedService)
    case thread(SimulatedService)
  }

  /// - Parameter isCalm: Whether late requests of broken connections arrive soon.
  @discardableResult
  func step(isCalm: Bool = false) -> Bool {
    var steps: [Step] = []
    var (late, far): ([Step], [Step]) = ([], [])
    for connection in connections where !connection.outbox.isEmpty && !connection.isStalled {
      if connection.isLate {
        late.append(.reach(connection))
      } else if connection.service.isFar {
        far.append(.reach(connection))
      } else {
        steps.append(.reach(connection))
      }
    }
    for service in services {
      for caller in service.callers where canProceed(caller) { steps.append(.caller(caller, service)) }
      if canProceed(service.thread) { steps.append(.thread(service)) }
    }
    if isCalm || chance(30) { steps += late }
    if steps.isEmpty || chance(4) { steps += far }
    switch any(steps) {
    case .reach(let connection): reach(connection)
    case .caller(let caller, let service): proceed(caller, in: service)
    case .thread(let service): proceed(service.thread, in: service)
    case nil: return false
    }
    return true
  }
}
