import Logging
import MetricsTestKit
import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// The metrics that the article RunningIt documents.
@Suite("Metrics", .timeLimit(.minutes(5)), .endsStores)
struct MetricsTests {
  private let backend = FakeBackend()
  private let metrics = TestMetrics()

  private func count(_ name: String) -> Int64 { metrics.counterTotal(label: "shared_state_\(name)") }

  @Test("connections that break are counted")
  func disconnections() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    #expect(self.count("disconnections") == 0)
    backend.redis.refuseConnections()
    try await store.isDown()
    try await eventually("the disconnection is counted") { self.count("disconnections") > 0 }
  }

  @Test("a loss and its healing are counted")
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

  @Test("changes that are given up are counted", .dependency(\.reportsUnreadErrors, false))
  func givenUp() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("number", store: store)) var number = 0.5
    $number.withLock { $0 = .infinity }
    try await eventually("the change that was given up is counted") { self.count("given_up") == 1 }
  }

  @Test("a closure that holds up a change by another service is counted, and named in the log")
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

  @Test("adopted edits are counted")
  func adoptions() async throws {
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save()
    backend.set("count", "7")
    try await $count.becomes(7)
    try await eventually("the adoption is counted") { self.count("adopted") == 1 }
    #expect(self.count("lost_history") == 0)
  }

  @Test("messages that are lost or malformed are counted")
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
}
