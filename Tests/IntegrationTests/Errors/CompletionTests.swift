import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// BadDataHeld, and data that is not bad: a document of an older release.
@Suite("A member that is missing", .timeLimit(.minutes(5)), .endsStores)
struct CompletionTests {
  private struct Limits: Codable, Hashable, Sendable {
    var perSecond = 5
    var burst = 10
  }

  private struct First: Codable, Hashable, Sendable {
    var limit = 10
    var note: String?
    var limits = Limits()
  }

  private struct Second: Codable, Hashable, Sendable {
    struct Limits: Codable, Hashable, Sendable {
      var perSecond = 5
      var burst = 10
      var perDay = 1_000
    }

    var limit = 10
    var currency = "EUR"
    var note: String?
    var limits = Limits()
    var items: [Limits] = []
  }

  @Test("A missing member takes its default value, which is not written", arguments: BackendKind.allCases)
  func isCompleted(kind: BackendKind) async throws {
    let (backend, journal) = (try kind.make(), Journal())
    let (first, second) = (try backend.store("first"), try backend.store("second", logger: journal.logger("second")))
    @Shared(.redis("config", store: first)) var older = First()
    $older.withLock { $0 = First(limit: 20, limits: CompletionTests.Limits(perSecond: 7)) }
    try await $older.save()
    let stored = try backend.get("config")

    @Shared(.redis("config", store: second)) var newer = Second(currency: "USD", note: "a default")
    try await $newer.load()
    #expect(newer == Second(limit: 20, currency: "USD", limits: .init(perSecond: 7)))
    #expect($newer.loadError == nil)
    try await $newer.save()
    try await $newer.updateAtomically { _ in }
    #expect(try backend.get("config") == stored)
    let entries = journal.entries(Journal.completed, name: "config")
    #expect(entries.map(\.level) == [.info])
    #expect(entries.first?.members == "currency, limits.perDay, items")

    // Only the changed member is written.
    $newer.withLock { $0.limits.perDay = 2_000 }
    try await $newer.save()
    #expect(
      try backend.get("config") == #"{"limit":20,"limits":{"perSecond":7,"burst":10,"perDay":2000}}"#
    )
    try await $older.load()
    $older.withLock { $0.limit = 30 }
    try await $older.save()
    try await $newer.value { $0 == Second(limit: 30, currency: "USD", limits: .init(perSecond: 7, perDay: 2_000)) }
    #expect(try backend.get("config")?.contains("currency") == false)
    #expect(journal.entries(Journal.completed).count == 1)
  }

  @Test("A member that was there, and is missing beside an unknown one, is a warning", arguments: BackendKind.allCases)
  func renamed(kind: BackendKind) async throws {
    let (backend, journal) = (try kind.make(), Journal())
    try backend.set("config", #"{"limit":20,"limits":{"perSecond":1,"burst":2},"more":true}"#)
    @Shared(.redis("config", store: try backend.store(logger: journal.logger("service")))) var older = First()
    try await $older.load()
    // An unknown member alone is no reason to warn, nor is one elsewhere.
    try backend.set("config", #"{"maximum":30,"limits":{"perSecond":1,"peak":2}}"#)
    try await $older.value { $0 == First(limit: 10, limits: CompletionTests.Limits(perSecond: 1, burst: 10)) }
    let entries = journal.entries("Were they renamed?", name: "config")
    #expect(entries.map(\.level) == [.warning])
    #expect(entries.first?.members == "limit, limits.burst")
    #expect(journal.entries(Journal.completed).isEmpty)
    // What was missing from the first document on is new, whatever else is there.
    @Shared(.redis("config", store: try backend.store("newer", logger: journal.logger("newer")))) var newer = Second()
    try await $newer.load()
    #expect(journal.entries("Were they renamed?", of: "newer").isEmpty)
    #expect(journal.entries(Journal.completed, of: "newer").count == 1)
  }

  @Test("A member that is missing inside an element has no default and is an error", arguments: BackendKind.allCases)
  func elements(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("config", #"{"limit":20,"items":[{"perSecond":1,"burst":2}]}"#)
    @Shared(.redis("config", store: try backend.store())) var newer = Second()
    let error = await #expect(throws: RedisSharedStateError.self) { try await $newer.load() }
    #expect(error?.description.contains("items[0].perDay: expected a value, found nothing") == true)
    #expect(newer == Second())
  }

  @Test(
    "A missing member can be set by an atomic update and alongside changes of other services",
    arguments: BackendKind.allCases
  )
  func changes(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("config", #"{"limit":20,"limits":{"perSecond":1,"burst":2}}"#)
    let (first, second) = (try backend.store("first"), try backend.store("second"))
    @Shared(.redis("config", store: first)) var older = First()
    @Shared(.redis("config", store: second)) var newer = Second()
    try await $older.load()
    try await $newer.load()
    try await $newer.updateAtomically { $0.currency = "CHF" }
    #expect(try backend.get("config") == #"{"limit":20,"currency":"CHF","limits":{"perSecond":1,"burst":2}}"#)
    $older.withLock { $0.note = "a note" }
    $newer.withLock { $0.limits.perDay = 5 }
    try await $older.save()
    try await $newer.save()
    try await $newer.value { $0.note == "a note" && $0.limits.perDay == 5 && $0.currency == "CHF" }
    try await $older.value { $0.note == "a note" }
  }

  @Test("A missing member is an error for a subclass of JSONDecoder", arguments: BackendKind.allCases)
  func subclass(kind: BackendKind) async throws {
    final class Decoder: JSONDecoder, @unchecked Sendable {}
    let backend = try kind.make()
    try backend.set("config", #"{"limit":20}"#)
    let options = RedisSharedKey<Second>.Options(decoder: Decoder())
    @Shared(.redis("config", store: try backend.store(), options: options)) var newer = Second()
    await #expect(throws: RedisSharedStateError.self) { try await $newer.load() }
  }
}
