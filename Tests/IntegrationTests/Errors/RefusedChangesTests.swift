import Foundation
import Logging
import SharedState
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite(
  "Changes that Redis will never have",
  .timeLimit(.minutes(5)),
  .endsStores,
  .dependency(\.reportsUnreadErrors, false)
)
struct RefusedChangesTests {
  private struct Rates: Codable, Hashable, Sendable {
    var maximum = 10
    var ratio = 0.5
    var note = "default"
  }

  private struct Invalid: Error, CustomStringConvertible {
    let description = "the maximum has to be positive"
  }

  enum Rule: CaseIterable, Sendable {
    case valid, encodable, small

    var code: RedisSharedStateError.Code {
      switch self {
      case .valid: .rejected
      case .encodable: .encodingFailed
      case .small: .valueTooLarge
      }
    }
  }

  private static let options = RedisSharedKey<Rates>.Options(maximumBytes: 200) { rates in
    guard rates.maximum > 0 else { throw Invalid() }
  }

  private static func share(_ store: RedisStore) -> Shared<Rates> {
    Shared(wrappedValue: Rates(), .redis("rates", store: store, options: options))
  }

  private static func breakRule(_ rule: Rule, _ rates: inout Rates) {
    switch rule {
    case .valid: rates.maximum = -1
    case .encodable: rates.ratio = .infinity
    case .small: rates.note = String(repeating: "x", count: 300)
    }
  }

  @Test(
    "A refused change is discarded: the box shows the stored value, the save fails, and the next change is saved",
    arguments: BackendKind.allCases,
    Rule.allCases
  )
  func online(kind: BackendKind, rule: Rule) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    let share = Self.share(store)
    try await share.load()
    share.withLock { $0.maximum = 20 }
    try await share.save()
    let stored = try backend.get("rates")
    share.withLock { Self.breakRule(rule, &$0) }
    let error = await #expect(throws: RedisSharedStateError.self) { try await share.save() }
    #expect(error?.code == rule.code)
    #expect(share.wrappedValue == Rates(maximum: 20))
    #expect((share.saveError as? RedisSharedStateError)?.code == rule.code)
    // The save that has failed may still wait to be encoded, and finds nothing to commit then.
    try await eventually("the change is given up") { store.report().values.map(\.progress) == [.rejected] }
    try await share.load()
    #expect(share.wrappedValue == Rates(maximum: 20))
    #expect(try backend.get("rates") == stored)
    try await eventually("it is logged") { journal.entries(Journal.rejected, name: "rates").map(\.level) == [.error] }
    #expect(journal.entries(Journal.rejected, name: "rates").first?.error == error?.description)

    share.withLock { $0.note = "valid" }
    try await share.save()
    #expect(share.saveError == nil)
    try await eventually("it is saved") { store.report().values.map(\.progress) == [.current] }
    #expect(try backend.get("rates")?.contains("valid") == true)
  }

  @Test(
    "A refused change is discarded while the server is unreachable, together with the unsent one before it",
    arguments: BackendKind.allCases,
    Rule.allCases
  )
  func offline(kind: BackendKind, rule: Rule) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    let share = Self.share(store)
    share.withLock { $0.maximum = 20 }
    try await share.save()
    let stored = try backend.get("rates")
    try backend.goDown()
    try await store.isDown()
    share.withLock { $0.note = "unsent" }
    share.withLock { Self.breakRule(rule, &$0) }
    try await share.becomes(Rates(maximum: 20))
    try await share.status { ($0.saveError as? RedisSharedStateError)?.code == rule.code }
    #expect(store.pendingChanges == 0)
    // A valid change still waits.
    share.withLock { $0.note = "valid" }
    try backend.comeBack()
    try await share.save()
    #expect(try backend.get("rates") != stored)
    #expect(share.wrappedValue == Rates(maximum: 20, note: "valid"))
    #expect(share.saveError == nil)
  }

  @Test("Before the first connection, the default is shown again", arguments: BackendKind.allCases, Rule.allCases)
  func neverConnected(kind: BackendKind, rule: Rule) async throws {
    let backend = try kind.make()
    try backend.goDown()
    let store = try backend.store()
    let share = Self.share(store)
    share.withLock { Self.breakRule(rule, &$0) }
    try await share.becomes(Rates())
    try await share.status { ($0.saveError as? RedisSharedStateError)?.code == rule.code }
    try backend.comeBack()
    try await share.load()
    #expect(share.wrappedValue == Rates())
    #expect(try backend.get("rates") == nil)
  }

  @Test(
    "PendingSurvives: a change whose commit has no answer survives a refused one after it",
    arguments: Rule.allCases
  )
  func interrupted(rule: Rule) async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    let share = Self.share(store)
    try await share.load()
    backend.redis.refuseConnections(keepingOpenConnections: true)
    backend.redis.cutBeforeNextCommit()
    share.withLock { $0.maximum = 20 }
    try await store.isDown()
    share.withLock { Self.breakRule(rule, &$0) }
    try await share.becomes(Rates(maximum: 20))
    #expect(store.pendingChanges == 1)
    backend.redis.acceptConnections()
    try await eventually("the first change is stored") { store.pendingChanges == 0 }
    #expect(backend.redis.get("rates")?.contains("20") == true)
    #expect(share.wrappedValue == Rates(maximum: 20))
  }

  @Test("A refused change behind an unreadable document is discarded", arguments: BackendKind.allCases, Rule.allCases)
  func unreadable(kind: BackendKind, rule: Rule) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    let share = Self.share(store)
    share.withLock { $0.maximum = 20 }
    try await share.save()
    try backend.set("rates", "nonsense")
    try await share.status { $0.loadError != nil }
    share.withLock { Self.breakRule(rule, &$0) }
    try await share.becomes(Rates(maximum: 20))
    #expect(try backend.get("rates") == "nonsense")
  }

  @Test("A refused atomic update throws, and the others take effect", arguments: BackendKind.allCases, Rule.allCases)
  func update(kind: BackendKind, rule: Rule) async throws {
    let backend = try kind.make()
    let share = Self.share(try backend.store())
    try await share.load()
    let error = await #expect(throws: RedisSharedStateError.self) {
      try await share.updateAtomically { Self.breakRule(rule, &$0) }
    }
    #expect(error?.code == rule.code)
    #expect(share.wrappedValue == Rates())
    #expect(share.saveError == nil)
    try await share.updateAtomically { $0.maximum += 1 }
    #expect(share.wrappedValue.maximum == 11)
  }

  @Test(
    "A change that is too large is discarded even if another service has made room for it meanwhile",
    arguments: BackendKind.allCases
  )
  func room(kind: BackendKind) async throws {
    let pair = try await Pair(kind, [String: String](), options: .init(maximumBytes: 100))
    try await pair.store(["a": String(repeating: "x", count: 60)])
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0["b"] = String(repeating: "y", count: 60) }
    pair.first.withLock { $0["a"] = nil }
    try await pair.first.save()
    try await pair.second.value { $0["b"] == nil }
    try pair.backend.reunite("second")
    try await pair.second.becomes([:])
    #expect(try pair.backend.get("value") == "{}")
  }
}

@Suite("Saves of stored values", .timeLimit(.minutes(5)), .endsStores)
struct StoredSavesTests {
  @Test("A save of an acknowledged, loaded or shown value commits nothing", arguments: BackendKind.allCases)
  func stored(kind: BackendKind) async throws {
    let pair = try await Pair(kind, Limits())
    try await pair.store(Limits(maximum: 20))
    let revision = try await pair.stores.0.metadata(for: "value")?.revision
    let commits = try CommitCount(pair.backend)
    try await pair.first.save()
    try await pair.second.save()
    try await pair.second.load()
    try await pair.second.save()
    #expect(try commits.count() == 0)
    #expect(try await pair.stores.0.metadata(for: "value")?.revision == revision)
  }

  @Test("A change and its save are one commit, however long after it the save is", arguments: BackendKind.allCases)
  func later(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("limits", store: store)) var limits = Limits()
    try await $limits.load()
    let commits = try CommitCount(backend)
    $limits.withLock { $0.maximum = 20 }
    try await eventually("the change is acknowledged") { store.pendingChanges == 0 }
    try await $limits.save()
    #expect(try commits.count() == 1)
  }

  @Test("A default that was never stored is stored, also after a reset", arguments: BackendKind.allCases)
  func defaultValue(kind: BackendKind) async throws {
    let backend = try kind.make()
    @Shared(.redis("limits", store: try backend.store())) var limits = Limits()
    for _ in 0..<2 {
      try await $limits.load()
      try await $limits.save()
      #expect(try backend.get("limits") != nil)
      try await $limits.reset()
      #expect(try backend.get("limits") == nil)
    }
  }
}
