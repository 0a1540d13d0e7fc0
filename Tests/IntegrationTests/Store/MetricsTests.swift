import Foundation
import Logging
import Metrics
import MetricsTestKit
import SharedState
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting
import Synchronization
import Testing

/// The metrics that the article Watching documents.
@Suite("Metrics", .timeLimit(.minutes(5)), .endsStores)
struct MetricsTests {
  private let backend = FakeBackend()
  private let metrics = TestMetrics()

  private func count(_ name: String) -> Int64 { metrics.counterTotal(label: "shared_state_\(name)") }

  /// The value that a gauge of the only store has; `nil`: it was never set.
  private func gauge(_ name: String) -> Double? { metrics.recorders(label: "shared_state_\(name)").first?.lastValue }

  /// The times of a store, in seconds.
  private func times(_ name: String, of label: String = "service") -> [Double] {
    metrics.timers(label: "shared_state_\(name)", dimensions: [("label", label)]).flatMap(\.values).map {
      Double($0) / 1e9
    }
  }

  @Test("Broken connections are counted")
  func disconnections() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    #expect(self.count("disconnections") == 0)
    backend.redis.refuseConnections()
    try await store.isDown()
    try await eventually("the disconnection is counted") { self.count("disconnections") > 0 }
  }

  @Test("A lost value and its restoration are counted")
  func losses() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    backend.redis.loseData()
    try await eventually("the restoration is counted") { self.count("restored") == 1 }
    #expect(self.count("lost_history") == 1)
    #expect(self.count("adopted") == 0)
  }

  @Test("Bounded: of many lost values, a hundred are named above the level debug, and all are counted")
  func manyLosses() async throws {
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"), metrics: metrics)
    let shares = (0..<150).map { Shared(wrappedValue: 0, .redis("value:\($0)", store: store)) }
    for share in shares { share.withLock { $0 = 1 } }
    try await store.flush(within: patience)
    backend.redis.loseData()
    try await eventually("all restorations are counted") { self.count("restored") == 150 }
    #expect(count("lost_history") == 150)
    for (text, level) in [(Journal.lostHistory, Logger.Level.warning), (Journal.restored, .notice)] {
      let levels = journal.entries(text).map(\.level)
      #expect(levels.count { $0 == level } == LogBudget.lines)
      #expect(levels.count { $0 == .debug } == 50)
      #expect(journal.entries("Further events").count { $0.level == level } == 1)
    }
  }

  @Test("A change that is given up is counted", .dependency(\.reportsUnreadErrors, false))
  func givenUp() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("number", store: store)) var number = 0.5
    $number.withLock { $0 = .infinity }
    try await eventually("the change that was given up is counted") { self.count("given_up") == 1 }
  }

  @Test("A withLock closure that delays an external edit is counted and logged with the name of its value")
  func blockedClosure() async throws {
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"), metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save()
    let held = HeldLock($count)
    backend.set("count", "7")
    try await eventually("the closure is counted") { self.count("blocked_closures") == 1 }
    #expect(journal.entries("A closure of 'withLock'", name: "count").map(\.level) == [.warning])
    held.end()
  }

  @Test("An adopted external edit is counted")
  func adoptions() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save()
    backend.set("count", "7")
    try await $count.becomes(7)
    try await eventually("the adoption is counted") { self.count("adopted") == 1 }
    #expect(self.count("lost_history") == 0)
    // It was adopted here.
    #expect(times("replay_seconds").isEmpty)
  }

  @Test("Lost and malformed messages are counted")
  func messages() async throws {
    let store = try backend.store(metrics: metrics)
    // Without tracking, the store has to find the gap by itself.
    @Shared(.redis("count", store: store, options: .init(detectsForeignEdits: false))) var count = 0
    try await $count.save()
    let other = try backend.store("other")
    @Shared(.redis("count", store: other)) var written = 0
    try await $written.load()
    backend.redis.dropMessages()
    for number in 1...2 {
      $written.withLock { $0 = number }
      try await $written.save()
    }
    try await $count.becomes(2)
    try await eventually("the gap is counted") { self.count("missed_messages") == 1 }
    backend.publish("hello", on: "changes:{count}")
    try await eventually("the malformed message is counted") { self.count("malformed_messages") == 1 }
  }

  // MARK: Commits

  private struct Limits: Codable, Equatable, Sendable {
    var items = 10
    var users = 10
  }

  @Test("Commits are counted and timed, and no change is pending afterwards")
  func commits() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    for number in 1...3 {
      $count.withLock { $0 = number }
      // Unlike 'save()', it commits nothing that was committed already.
      try await store.flush(within: patience)
    }
    try await $count.updateAtomically { $0 += 1 }
    try await $count.reset()
    try await eventually("five commits are counted") { self.count("commits") == 5 }
    // They are published after the counters.
    try await eventually("their times are recorded") { self.times("commit_seconds").count == 5 }
    let times = times("commit_seconds")
    #expect(times.allSatisfy { $0 > 0 && $0 < 60 })
    try await eventually("nothing is pending") { self.gauge("pending_values") == 0 }
    for name in ["conflicts", "merges", "retries", "decode_failures"] { #expect(self.count(name) == 0, "\(name)") }
  }

  @Test("A commit on an outdated base is counted as a conflict, and its resolution as a merge")
  func conflicts() async throws {
    let store = try backend.store(metrics: metrics)
    // Nothing tells this store of the other's change.
    @Shared(.redis("limits", store: store, options: .init(detectsForeignEdits: false))) var limits = Limits()
    try await $limits.save()
    let other = try backend.store("other")
    @Shared(.redis("limits", store: other)) var others = Limits()
    try await $others.load()
    backend.redis.dropMessages()
    try await $others.updateAtomically { $0.users = 11 }
    $limits.withLock { $0.items = 12 }
    try await store.flush(within: patience)
    try await $limits.becomes(Limits(items: 12, users: 11))
    try await eventually("two commits, a conflict and a merge are counted") {
      [self.count("commits"), self.count("conflicts"), self.count("merges")] == [2, 1, 1]
    }
    #expect(count("retries") == 0)
  }

  @Test("A commit that is retried after its connection broke is counted once as a commit and once as a retry")
  func retries() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save()
    backend.redis.cutBeforeNextCommit()
    $count.withLock { $0 = 1 }
    try await store.flush(within: patience)
    try await eventually("both commits and the retry are counted, and the commits are timed") {
      [self.count("commits"), self.count("retries")] == [2, 1] && self.times("commit_seconds").count == 2
    }
  }

  @Test("Each document that cannot be decoded is counted", .dependency(\.reportsUnreadErrors, false))
  func decodeFailures() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save()
    for (number, text) in ["\"one\"", "\"two\""].enumerated() {
      backend.set("count", text)
      try await eventually("the failure is counted") {
        self.count("decode_failures") > number && self.count("undecodable") > number
      }
    }
  }

  // MARK: Gauges

  @Test("The gauges of a store show whether it is stale and how many values are pending")
  func outage() async throws {
    let store = try backend.store(metrics: metrics)
    let shares = (0..<3).map { Shared(wrappedValue: 0, .redis("value:\($0)", store: store)) }
    for share in shares { try await share.save() }
    try await eventually("all is well") { self.gauge("stale") == 0 && self.gauge("pending_values") == 0 }
    backend.goDown()
    backend.redis.cutConnections()
    try await store.isDown()
    for share in shares[..<2] { for number in 1...5 { share.withLock { $0 = number } } }
    try await eventually("two values wait") { self.gauge("stale") == 1 && self.gauge("pending_values") == 2 }
    backend.comeBack()
    try await eventually("all is well again") { self.gauge("stale") == 0 && self.gauge("pending_values") == 0 }
    _ = consume shares
  }

  @Test("A pending value is counted until the store is shut down, and the store is stale afterwards")
  func shutdown() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save()
    backend.goDown()
    backend.redis.cutConnections()
    try await store.isDown()
    $count.withLock { $0 = 1 }
    try await eventually("the value waits") { self.gauge("pending_values") == 1 }
    await store.shutdown(within: .zero)
    try await eventually("nothing waits any more") { self.gauge("pending_values") == 0 }
    #expect(gauge("stale") == 1)
  }

  // MARK: What other services do

  @Test("Changes of other services are timed until they are shown, unlike loads and local changes")
  func replays() async throws {
    let writer = try backend.store("writer", metrics: metrics)
    @Shared(.redis("count", store: writer)) var count = 1
    try await $count.save()
    let reader = try backend.store("reader", metrics: metrics)
    @Shared(.redis("count", store: reader)) var shown = 0
    try await $shown.load()
    #expect(shown == 1)
    for number in 2...4 {
      try await $count.updateAtomically { $0 = number }
      try await $shown.becomes(number)
    }
    try await eventually("three changes are timed") { self.times("replay_seconds", of: "reader").count == 3 }
    #expect(times("replay_seconds", of: "reader").allSatisfy { $0 >= 0 && $0 < 60 })
    #expect(times("replay_seconds", of: "writer").isEmpty)
  }

  @Test("The replay time of a change is zero, not negative, when the server's clock is ahead")
  func clocks() async throws {
    let writer = try backend.store("writer")
    @Shared(.redis("count", store: writer)) var count = 1
    try await $count.save()
    let reader = try backend.store("reader", metrics: metrics)
    @Shared(.redis("count", store: reader)) var shown = 0
    try await $shown.load()
    backend.redis.advanceClock(by: .seconds(3_600))
    try await $count.updateAtomically { $0 = 2 }
    try await eventually("the change is timed") { !self.times("replay_seconds", of: "reader").isEmpty }
    #expect(times("replay_seconds", of: "reader") == [0])
  }

  // MARK: The network

  @Test("Sent and received bytes are counted for each store")
  func bytes() async throws {
    let server = try PrivateRedisServer()
    func store(_ label: String) throws -> RedisStore {
      var configuration = try RedisConfiguration(url: server.url)
      configuration.label = label
      return RedisStore(configuration, logger: quiet, metrics: metrics).endingWithTest
    }
    @Sendable func bytes(_ direction: String, of label: String) -> Int64 {
      metrics.counters(label: "shared_state_bytes_\(direction)", dimensions: [("label", label)]).map(\.totalValue)
        .reduce(0, +)
    }
    @Shared(.redis("text", store: try store("writer"))) var text = ""
    try await $text.load()
    // Larger than what is announced, so that the reader asks for it.
    $text.withLock { $0 = String(repeating: "x", count: 200_000) }
    try await $text.save()
    @Shared(.redis("text", store: try store("reader"))) var copy = ""
    try await $copy.load()
    #expect(copy.count == 200_000)
    try await eventually("the document is counted on its way") {
      bytes("sent", of: "writer") > 200_000 && bytes("received", of: "reader") > 200_000
    }
    #expect(bytes("sent", of: "reader") < 100_000)
  }

  // MARK: Factories

  @Test("The metrics of stores are separated by label and by namespace")
  func dimensions() async throws {
    func store(_ label: String, namespace: String) throws -> RedisStore {
      var configuration = RedisConfiguration.inProcess
      (configuration.label, configuration.namespace) = (label, namespace)
      return RedisStore.inProcess(backend.redis, configuration: configuration, logger: quiet, metrics: metrics)
        .endingWithTest
    }
    @Sendable func commits(_ label: String, _ namespace: String) -> Int64? {
      let dimensions = [("label", label), ("namespace", namespace)]
      return try? metrics.expectCounter("shared_state_commits", dimensions).totalValue
    }
    let stores = [
      try store("a", namespace: ""), try store("a", namespace: "shop:"), try store("b", namespace: "shop:"),
    ]
    for (store, changes) in zip(stores, 1...) {
      @Shared(.redis("count", store: store)) var count = 0
      try await $count.load()
      for _ in 0..<changes { try await $count.updateAtomically { $0 += 1 } }
    }
    try await eventually("each has its own commits") {
      commits("a", "") == 1 && commits("a", "shop:") == 2 && commits("b", "shop:") == 3
    }
  }

  @Test(
    "The labels and dimensions of metrics never contain the name of a value",
    .dependency(\.reportsUnreadErrors, false)
  )
  func names() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("marked", store: store)) var number = 0.5
    try await $number.save()
    backend.set("marked", "7")
    try await eventually("the edit is counted") { self.count("adopted") == 1 }
    backend.set("marked", "\"text\"")
    try await eventually("the failure is counted") { self.count("undecodable") == 1 }
    backend.set("marked", "8")
    try await $number.becomes(8)
    $number.withLock { $0 = .infinity }
    try await eventually("the change that was given up is counted") { self.count("given_up") == 1 }
    backend.redis.loseData()
    try await eventually("the loss is counted") { self.count("lost_history") == 1 }
    // Shows every label, dimension and value.
    #expect("\(metrics)".contains("shared_state_adopted"))
    #expect(!"\(metrics)".contains("marked"))
  }

  @Test("A metrics factory that is set after the store was created receives earlier commits, too")
  func lateFactory() async {
    await #expect(processExitsWith: .success) {
      Watchdog.start(endingWith: 1)
      var configuration = RedisConfiguration.inProcess
      configuration.keepAliveInterval = .milliseconds(100)
      let store = RedisStore.inProcess(configuration: configuration, logger: quiet)
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      try await share.save()
      let metrics = TestMetrics()
      MetricsSystem.bootstrap(metrics)
      // The program does nothing. The store looks when it sends its next PING.
      try await eventually("the commit from before is counted, too") {
        metrics.counterTotal(label: "shared_state_commits") == 1
      }
      _ = consume share
    }
  }

  @Test("A metrics handler that blocks delays no change, and the changes are counted later")
  func blockingHandler() async throws {
    let blocking = GatedMetrics()
    defer { blocking.gate.open() }
    let store = try backend.store(metrics: blocking)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    try await blocking.gate.isReached()
    for _ in 1...20 { try await $count.updateAtomically { $0 += 1 } }
    #expect(backend.get("count") == "20")
    blocking.gate.open()
    try await eventually("all commits are counted") {
      blocking.metrics.counterTotal(label: "shared_state_commits") == 20
    }
    #expect(blocking.metrics.recorders(label: "shared_state_pending_values").first?.lastValue == 0)
  }
}

/// Metrics whose gauges cannot be made until a gate is opened.
private final class GatedMetrics: MetricsFactory {
  let gate = Gate()
  let metrics = TestMetrics()

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    metrics.makeCounter(label: label, dimensions: dimensions)
  }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    gate.pass()
    return metrics.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    metrics.makeTimer(label: label, dimensions: dimensions)
  }

  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}
}
