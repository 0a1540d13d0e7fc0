import Dispatch
import Foundation
import Logging
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("The report of a store", .timeLimit(.minutes(5)), .endsStores)
struct ReportTests {
  /// Waits until a value has got so far, and returns what the report says of it.
  private func value(
    _ name: String,
    of store: RedisStore,
    is progress: RedisStore.Report.Progress
  ) async throws -> RedisStore.Report.Value {
    let found = Mutex<RedisStore.Report.Value?>(nil)
    try await eventually("'\(name)' is \(progress)") {
      let value = store.report().values.first { $0.name == name && $0.progress == progress }
      found.withLock { $0 = value }
      return value != nil
    }
    return try #require(found.withLock { $0 })
  }

  @Test("A report contains the revisions of every value, but not the values", arguments: BackendKind.allCases)
  func current(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("second", store: store)) var second = "default"
    @Shared(.redis("first", store: store)) var first = "default"
    try await store.waitUntilConnected(within: patience)
    $first.withLock { $0 = "marked" }
    try await $first.save()

    let saved = try await value("first", of: store, is: .current)
    #expect(saved.shownRevision > 0)
    #expect(saved.confirmedRevision == saved.shownRevision)
    #expect(saved.pendingSince == nil && saved.loadError == nil && saved.saveError == nil)
    #expect(try backend.get("first") == #""marked""#)
    let revision = try #require(try await store.metadata(for: "first")).revision
    #expect(saved.shownRevision == revision)
    #expect(try await value("second", of: store, is: .current).shownRevision == 0)

    let report = store.report()
    #expect(report.health == .live)
    #expect(report.values.map(\.name) == ["first", "second"])
    let lines = report.description.split(separator: "\n")
    #expect(lines.first?.hasPrefix("service on ") == true)
    #expect(lines.first?.hasSuffix(": live, 2 values, 0 stale, 0 with a pending change") == true)
    #expect(lines.dropFirst().first?.hasPrefix("  first: current, shows revision \(revision) of 20") == true)
    #expect(lines.last == "  second: current, shows no revision")
    #expect(!report.description.contains("marked") && !report.description.contains("default"))
  }

  @Test("A report says since when values may be stale and changes are pending", arguments: BackendKind.allCases)
  func outage(kind: BackendKind) async throws {
    let (backend, way) = (try kind.make(), Way())
    let store = try backend.store(way: way)
    @Shared(.redis("count", store: store)) var count = 0
    try await store.waitUntilConnected(within: patience)
    let before = Date()
    try await backend.cutOff(store, "service", way)
    try await $count.status { $0.loadError != nil }
    $count.withLock { $0 = 1 }
    let changed = Date()
    $count.withLock { $0 = 2 }

    let value = try await value("count", of: store, is: .disconnected)
    let error = try #require(value.loadError)
    #expect(error.since >= before && error.since <= changed)
    #expect(error.error.code == .disconnected || error.error.code == .unreachable)
    // The moments of two clocks are compared.
    let pendingSince = try #require(value.pendingSince)
    #expect(pendingSince > before - 0.1 && pendingSince < changed + 0.1)
    let text = value.description
    #expect(text.contains("change pending since 20") && text.contains("load error since 20"))

    let encoded = try #require(
      JSONSerialization.jsonObject(with: JSONEncoder().encode(store.report())) as? [String: Any]
    )
    #expect(encoded["label"] as? String == "service" && encoded["namespace"] as? String == "")
    let status = try #require(encoded["status"] as? [String: Any])
    #expect(status["state"] as? String == "reconnecting" && status["attempt"] is Int)
    let health = try #require(encoded["health"] as? [String: Any])
    #expect(health["state"] as? String == "stale" && health["since"] is Double)
    let reason = try #require(health["reason"] as? [String: String])
    #expect(["disconnected", "unreachable"].contains(reason["code"]) && reason["message"]?.isEmpty == false)
    let member = try #require((encoded["values"] as? [[String: Any]])?.first)
    #expect(member["name"] as? String == "count" && member["progress"] as? String == "disconnected")
    #expect(member["pendingSince"] is Double && member["saveError"] == nil)
    let failure = try #require(member["loadError"] as? [String: Any])
    #expect(["disconnected", "unreachable"].contains(failure["code"] as? String) && failure["since"] is Double)

    way.open()
    try await $count.save()
    let healed = try await self.value("count", of: store, is: .current)
    #expect(healed.pendingSince == nil)
    try await eventually("the error has gone") { store.report().values.first?.loadError == nil }
  }

  @Test("A report says that a change was sent and awaits its acknowledgement")
  func sent() async throws {
    let redis = InProcessRedis()
    let store = RedisStore.inProcess(redis).endingWithTest
    @Shared(.redis("count", store: store)) var count = 0
    try await store.waitUntilConnected(within: patience)
    redis.pause()
    $count.withLock { $0 = 1 }
    #expect(try await value("count", of: store, is: .sent).pendingSince != nil)
    redis.resume()
    _ = try await value("count", of: store, is: .current)
  }

  @Test("A report shows a document as unreadable until it can be decoded again", arguments: BackendKind.allCases)
  func unreadable(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await store.waitUntilConnected(within: patience)
    try backend.set("count", #""marked""#)
    try await eventually("the error is there") { store.report().values.first?.loadError?.error.code == .undecodable }
    // An error that nobody has read would be reported, were the share released before the error is cleared.
    #expect($count.loadError != nil)
    let held = try await value("count", of: store, is: .unreadable)
    #expect(!held.description.contains("marked"))
    try backend.set("count", "2")
    _ = try await value("count", of: store, is: .current)
    try await $count.becomes(2)
  }

  @Test("A report says that user code keeps a newer version from being shown")
  func userCode() async throws {
    let redis = InProcessRedis()
    let store = RedisStore.inProcess(redis).endingWithTest
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    try await share.load()
    let (holds, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // If the test fails, no thread stays blocked.
    defer { release.signal() }
    let thread = Thread {
      share.withLock { _ in
        holds.signal()
        release.waitInTime()
      }
    }
    thread.start()
    #expect(holds.waitInTime())
    redis.set("count", "1")
    _ = try await value("count", of: store, is: .waitingForUserCode)
  }

  @Test("A logger at trace level receives each decision about a value, but not the value")
  func decisions() async throws {
    let (redis, journal) = (InProcessRedis(), Journal())
    let store = RedisStore.inProcess(redis, logger: journal.logger("service", level: .trace)).endingWithTest
    @Shared(.redis("name", store: store)) var name = "default"
    try await $name.load()
    $name.withLock { $0 = "marked" }
    try await $name.save()
    redis.set("name", #""edited""#)
    try await $name.becomes("edited")
    for text in ["Reading the value.", "Committing.", "Showing a version.", "No local change is pending any more."] {
      try await eventually("the log has '\(text)'") { !journal.entries(text, of: "service", name: "name").isEmpty }
    }
    #expect(journal.entries.filter { $0.message == "Committing." }.allSatisfy { $0.level == .trace })
    for text in ["marked", "edited", "default"] { #expect(journal.entries(text).isEmpty) }
  }
}
