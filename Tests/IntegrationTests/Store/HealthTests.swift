import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("The health of a store", .timeLimit(.minutes(5)), .endsStores)
struct HealthTests {
  private static let connected = "Connected to Redis."

  /// Waits until the store is stale for a reason, and returns since when.
  private func stale(_ store: RedisStore) async throws -> Date {
    try await eventually("the store is stale") { if case .stale = store.health { true } else { false } }
    guard case .stale(let since, _) = store.health else { throw WaitedInVain(for: "a stale store") }
    return since
  }

  @Test("A store's health follows outages and recoveries of its server, each of which is logged once")
  func outagesAndRecoveries() async throws {
    let backend = try ServerBackend()
    backend.goDown()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    @Shared(.redis("count", store: store)) var count = 0
    try await eventually("the first attempt has failed") {
      if case .neverConnected(_?) = store.health { true } else { false }
    }
    #expect(journal.entries(Self.connected).isEmpty)
    try backend.comeBack()
    try await store.waitUntilConnected(within: patience)
    #expect(store.health == .live)
    #expect(store.status == .connected)
    try await $count.status { !$0.isLoading }

    for outage in 1...3 {
      let before = Date()
      backend.goDown()
      let since = try await stale(store)
      #expect(since >= before && since <= Date())
      // Further attempts fail, and it is stale for as long as before.
      try await store.status("three failures") {
        if case .reconnecting(let attempt, _) = $0 { attempt >= 3 } else { false }
      }
      #expect(try await stale(store) == since)
      try backend.comeBack()
      try backend.set("count", "\(outage)")
      try await store.waitUntilConnected(within: patience)
      #expect(store.health == .live)
    }
    try await $count.becomes(3)
    // The log comes a moment after the status.
    try await eventually("four connections are logged") { journal.entries(Self.connected).count == 1 + 3 }
    #expect(journal.entries("No connection to Redis").filter { $0.level == .warning }.count == 1 + 3)
    await store.shutdown(within: patience)
    #expect(store.health == .stopped)
  }

  /// More than one request reads.
  private static let manyValues = repetitions(3_000, sanitized: 1_100)

  @Test("A store with many values shows all of them after it connects or reconnects", arguments: BackendKind.allCases)
  func manyValues(kind: BackendKind) async throws {
    let backend = try kind.make()
    let names = (0..<Self.manyValues).map { "value\($0)" }
    for name in names { try backend.set(name, "1") }
    let way = Way()
    // The values that have a share when the connections are opened are waited for.
    way.close()
    let store = try backend.store(way: way)
    let shares = names.map { Shared(wrappedValue: 0, .redis($0, store: store)) }
    way.open()
    try await store.waitUntilConnected(within: patience)
    // On a busy machine, some decoders may be taken for slow ones.
    try await eventually("every value is shown") { !shares.contains { $0.wrappedValue != 1 } }

    try await backend.cutOff(store, "service", way)
    _ = try await stale(store)
    for name in names { try backend.set(name, "2") }
    way.open()
    try await store.waitUntilConnected(within: patience)
    try await eventually("every value is shown") { !shares.contains { $0.wrappedValue != 2 } }
    try await eventually("no share has an error") { !shares.contains { $0.loadError != nil } }
  }

  /// What is wrong with connections until it is over.
  private final class Disturbance: Sendable {
    let state = Mutex((isOver: false, kept: 0))

    var isOver: Bool { state.withLock { $0.isOver } }
    var hasKept: Bool { state.withLock { $0.kept > 0 } }
    func end() { state.withLock { $0.isOver = true } }
  }

  /// Keeps reads back. Once the disturbance is over, they are sent together with the next request.
  private final class DelayedConnection: ForwardingConnection {
    private let delay: Disturbance
    private var kept: [RedisRequest] = []

    init(_ base: any RedisConnection, _ delay: Disturbance) {
      self.delay = delay
      super.init(base)
    }

    override func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
      let isOver = delay.state.withLock { state in
        guard !state.isOver else { return true }
        state.kept += requests.count { $0.isRead }
        return false
      }
      if isOver {
        defer { kept = [] }
        try super.send(kept + requests)
      } else {
        kept += requests.filter(\.isRead)
        try super.send(requests.filter { !$0.isRead })
      }
    }
  }

  @Test("A store whose reads are unanswered is neither live nor logged as connected", arguments: BackendKind.allCases)
  func slowRead(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("count", "5")
    let (delay, journal) = (Disturbance(), Journal())
    let store = try backend.store(
      logger: journal.logger("service"),
      wrap: { $1 == .writer ? DelayedConnection($0, delay) : $0 }
    )
    @Shared(.redis("count", store: store)) var count = 0
    try await eventually("the first read") { delay.hasKept }
    #expect(store.health == .neverConnected(reason: nil))
    #expect(store.status == (backend.isInProcess ? .inProcess : .connecting))
    #expect(journal.entries("Connected to").isEmpty)
    let error = RedisSharedStateError.timedOut(operation: "reading every value")
    await #expect(throws: error) { try await store.waitUntilConnected(within: .milliseconds(1)) }
    delay.end()
    // This sends the reads that were kept back.
    _ = try await store.metadata(for: "other")
    try await store.waitUntilConnected(within: patience)
    // On a busy machine, the decoder may be taken for a slow one, for which the store does not wait.
    try await $count.becomes(5)
    #expect(store.health == .live)
    try await eventually("one connection is logged") { journal.entries("Connected to").count == 1 }
  }

  /// Breaks at the second subscription to values, when the first ones are read already.
  private final class BreakingConnection: ForwardingConnection {
    private let disturbance: Disturbance
    private var subscriptions = 0

    init(_ base: any RedisConnection, _ disturbance: Disturbance) {
      self.disturbance = disturbance
      super.init(base)
    }

    override func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
      subscriptions += requests.count { if case .subscribe = $0.command { true } else { false } }
      // The first one is that of the server's reports.
      if subscriptions > 2, !disturbance.isOver { throw .disconnected(reason: "broken") }
      try super.send(requests)
    }
  }

  @Test("Connections that break before every value is read are logged as one outage")
  func brokenPasses() async throws {
    let backend = FakeBackend()
    let (journal, disturbance) = (Journal(), Disturbance())
    let way = Way()
    way.close()
    let store = try backend.store(
      logger: journal.logger("service"),
      way: way,
      wrap: { $1 == .subscriber ? BreakingConnection($0, disturbance) : $0 }
    )
    let shares = (0..<1_100).map { Shared(wrappedValue: 0, .redis("value\($0)", store: store)) }
    way.open()
    try await eventually("five failures") { journal.entries("No connection to Redis").count >= 5 }
    #expect(journal.entries("Connected to").isEmpty)
    disturbance.end()
    try await store.waitUntilConnected(within: patience)
    try await eventually("one connection is logged") { journal.entries("Connected to").count == 1 }
    #expect(journal.entries("No connection to Redis").filter { $0.level == .warning }.count == 1)
    try await eventually("every share has heard of it") { shares.allSatisfy { !$0.isLoading } }
  }

  @Test(
    "Values with bad data or without permission have load errors, and the store is live",
    arguments: BackendKind.allCases
  )
  func isolated(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("open:bad", "{")
    try backend.setList("open:list")
    try backend.set("open:good", "1")
    try backend.permit(keys: "open:", channels: nil)
    let store = try backend.store()
    @Shared(.redis("open:bad", store: store)) var bad = 0
    @Shared(.redis("open:list", store: store)) var list = 0
    @Shared(.redis("open:good", store: store)) var good = 0
    @Shared(.redis("forbidden", store: store)) var forbidden = 0
    try await store.waitUntilConnected(within: patience)
    #expect(store.health == .live)
    // On a busy machine, any decoder may be taken for a slow one.
    try await $good.becomes(1)
    for share in [$bad, $list, $forbidden] { try await share.status { $0.loadError is RedisSharedStateError } }
  }

  @Test("Slow user code delays only its own value", arguments: BackendKind.allCases)
  func slowCode(kind: BackendKind) async throws {
    let name = UUID().uuidString
    defer { Gated.forget(name) }
    let backend = try kind.make()
    try backend.set("slow", "{\"number\":1,\"gates\":\"\(name)\"}")
    try backend.set("locked", "1")
    try backend.set("quick", "1")
    let gate = Gated.closeDecoding(name)
    defer { gate.open() }
    let way = Way()
    let store = try backend.store(way: way)
    @Shared(.redis("slow", store: store)) var slow = Gated(gates: "none")
    @Shared(.redis("locked", store: store)) var locked = 0
    @Shared(.redis("quick", store: store)) var quick = 0
    let held = HeldLock($locked)
    try await store.waitUntilConnected(within: patience)
    try await $quick.becomes(1)
    #expect(slow.number == 0)
    #expect(!held.hasReturned)
    // A new connection finds the code still running.
    try await backend.cutOff(store, "service", way)
    _ = try await stale(store)
    way.open()
    try await store.waitUntilConnected(within: patience)
    gate.open()
    held.end()
    try await $slow.value { $0.number == 1 }
    try await $locked.becomes(1)
  }

  @Test("A store stays live and connected when more values are shared", arguments: BackendKind.allCases)
  func later(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    try await store.waitUntilConnected(within: patience)
    var shares: [Shared<Int>] = []
    for number in 0..<200 {
      shares.append(Shared(wrappedValue: 0, .redis("value\(number)", store: store)))
      #expect(store.health == .live)
    }
    for share in shares { try await share.load() }
    #expect(store.health == .live)
    try await eventually("one connection is logged") { journal.entries("Connected to").count == 1 }
  }

  @Test("A store becomes live after a wrong password is corrected")
  func mended() async throws {
    let server = try PrivateRedisServer(password: "right")
    try server.command("SET", "count", "5")
    let password = Mutex("wrong")
    var configuration = try RedisConfiguration(url: server.url)
    configuration.retryQuickly(label: "service")
    configuration.credentialsProvider = { RedisCredentials(password: password.withLock { $0 }) }
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    @Shared(.redis("count", store: store)) var count = 0
    await #expect(throws: RedisSharedStateError.authenticationFailed) {
      try await store.waitUntilConnected(within: patience)
    }
    #expect(store.health == .neverConnected(reason: .authenticationFailed))
    password.withLock { $0 = "right" }
    try await store.isUp()
    #expect(store.health == .live)
    try await $count.becomes(5)
  }
}

extension RedisRequest {
  fileprivate var isRead: Bool {
    switch command {
    case .summarize, .read: true
    default: false
    }
  }
}
