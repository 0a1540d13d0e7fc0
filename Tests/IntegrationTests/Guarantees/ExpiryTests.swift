import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Expiry", .timeLimit(.minutes(5)), .endsStores)
struct ExpiryTests {
  private static let week = Duration.seconds(7 * 86_400)
  private static let hour = Duration.seconds(3_600)

  @Test("Every save and atomic update renews the value's time to live on the server", arguments: BackendKind.allCases)
  func renewed(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0, options: .init(timeToLive: .seconds(3_600)))
    try await pair.store(1)
    for change in [{ $0 += 1 }, { _ in }] as [@Sendable (inout Int) -> Void] {
      try pair.backend.expire("value", after: .seconds(100))
      pair.first.withLock(change)
      try await pair.first.save()
      let left = try #require(try pair.backend.timeToLive(of: "value"))
      #expect(left > .seconds(3_000) && left <= .seconds(3_600))
      let metaLeft = try #require(try pair.backend.timeToLive(of: "meta:{value}"))
      #expect(metaLeft > Self.hour + .seconds(3_000) && metaLeft <= Self.hour + .seconds(3_600))
    }
    try pair.backend.expire("value", after: .seconds(100))
    try await pair.first.updateAtomically { $0 += 1 }
    #expect(try #require(try pair.backend.timeToLive(of: "value")) > .seconds(3_000))
  }

  @Test(
    "An expiry returns every service to its default without counting as a deletion",
    arguments: BackendKind.allCases
  )
  func over(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let stores = try ["first", "second", "plain"].map { try backend.store($0, logger: journal.logger($0)) }
    let options = RedisSharedKey<Int>.Options(timeToLive: .seconds(3_600))
    let shares = [
      Shared(wrappedValue: 0, .redis("value", store: stores[0], options: options)),
      Shared(wrappedValue: 0, .redis("value", store: stores[1], options: options)),
      // This share has no time to live.
      Shared(wrappedValue: 0, .redis("value", store: stores[2])),
    ]
    for share in shares { try await share.load() }
    for round in 1...3 {
      shares[0].withLock { $0 = round }
      for share in shares { try await share.becomes(round) }
      // The value expires almost at once.
      try backend.expire("value", after: .milliseconds(1))
      for share in shares { try await share.becomes(0) }
      // After this, every service has checked the value once more and found nothing to adopt.
      for share in shares { try await share.load() }
      #expect(try backend.get("value") == nil)
      let meta = try #require(try backend.get("meta:{value}")).split(separator: " ")
      #expect(meta[2] == "s" && meta[3] != "0")
    }
    #expect(journal.entries(Journal.adopted).isEmpty)
    #expect(shares.allSatisfy { $0.saveError == nil })
  }

  @Test(
    "A value with a short time to live expires even without detection of external edits",
    arguments: BackendKind.allCases
  )
  func short(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    let options = RedisSharedKey<Int>.Options(timeToLive: .milliseconds(200), detectsForeignEdits: false)
    @Shared(.redis("value", store: store, options: options)) var value = 0
    for round in 1...3 {
      $value.withLock { $0 = round }
      // A save would store the default, if the value has expired by then.
      try await store.flush(within: patience)
      try await $value.becomes(0)
      #expect(try backend.get("value") == nil)
    }
  }

  @Test("A jump of the server's clock past the time to live returns every service to its default")
  func clockJump() async throws {
    let backend = FakeBackend()
    // Without keep-alive requests, only a server's message reveals the jump.
    let patient: (inout RedisConfiguration) -> Void = { $0.keepAliveInterval = .seconds(3_600) }
    let first = try backend.store("first", configure: patient)
    let second = try backend.store("second", configure: patient)
    let options = RedisSharedKey<Int>.Options(timeToLive: .seconds(3_600))
    @Shared(.redis("value", store: first, options: options)) var value = 0
    @Shared(.redis("value", store: second, options: options)) var others = 0
    try await $others.load()
    $value.withLock { $0 = 1 }
    try await $value.save()
    try await $others.becomes(1)
    backend.redis.advanceClock(by: .seconds(3_000))
    // This save is a commit of its own and renews the time to live, because none is under way that it could join.
    try await $value.save()
    backend.redis.advanceClock(by: .seconds(3_000))
    try await $value.load()
    #expect(value == 1)
    backend.redis.advanceClock(by: .seconds(700))
    try await $value.becomes(0)
    try await $others.becomes(0)
    // The metadata outlives the value and then expires, too. No service brings the value back.
    #expect(backend.redis.get("meta:{value}") != nil)
    backend.redis.advanceClock(by: Self.hour)
    try await $value.load()
    #expect(backend.redis.get("meta:{value}") == nil)
    #expect(value == 0 && others == 0)
    $others.withLock { $0 = 2 }
    try await $value.becomes(2)
  }

  @Test(
    "AcknowledgedSurvives: the metadata stays as long as a service may restore an older value",
    arguments: BackendKind.allCases
  )
  func notes(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (ending, lasting) = (try backend.store("ending"), try backend.store("lasting"))
    func noteLeft() throws -> Duration { try #require(try backend.timeToLive(of: "meta:{value}")) }
    let options = RedisSharedKey<Int>.Options(timeToLive: .seconds(100))
    let value = Shared(wrappedValue: 0, .redis("value", store: ending, options: options))
    value.withLock { $0 = 1 }
    try await value.save()
    #expect(try noteLeft() <= Self.hour + .seconds(100))
    // The tombstone of an expiring value is needed no longer than that.
    try await value.reset()
    #expect(try noteLeft() <= Self.hour + .seconds(100))

    // Another service may store the value without a time to live.
    let other = Shared(wrappedValue: 0, .redis("value", store: lasting))
    try await other.load()
    other.withLock { $0 = 2 }
    try await other.save()
    #expect(try backend.timeToLive(of: "meta:{value}") == nil)
    try await value.becomes(2)
    for round in 3...4 {
      value.withLock { $0 = round }
      try await value.save()
      #expect(try noteLeft() > Self.week)
      try await other.becomes(round)
    }
    try await value.reset()
    #expect(try noteLeft() > Self.week - .seconds(100))
  }

  @Test("AcknowledgedSurvives: a service that was away until the metadata is gone does not bring the value back")
  func nothingIsLeft() async throws {
    let backend = FakeBackend()
    let way = Way()
    let (first, second) = (try backend.store("first"), try backend.store("second", way: way))
    let options = RedisSharedKey<Int>.Options(timeToLive: .seconds(60))
    @Shared(.redis("value", store: first, options: options)) var value = 0
    @Shared(.redis("value", store: second, options: options)) var others = 0
    $value.withLock { $0 = 1 }
    try await $value.save()
    try await $others.becomes(1)
    try await backend.cutOff(second, "second", way)
    backend.redis.advanceClock(by: .seconds(70))
    try await $value.becomes(0)
    backend.redis.advanceClock(by: Self.hour)
    try await $value.load()
    way.open()
    try await $others.becomes(0)
    try await $others.load()
    for key in ["value", "meta:{value}", "ops:{value}"] { #expect(backend.redis.get(key) == nil) }
    $others.withLock { $0 = 2 }
    try await $value.becomes(2)
  }

  @Test("A pending change survives the expiry of the value", arguments: BackendKind.allCases)
  func pendingChange(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig(), options: .init(timeToLive: .seconds(3_600)))
    try await pair.store(ShopConfig(currency: "EUR"))
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0.maxItems = 2 }
    try pair.backend.expire("value", after: .milliseconds(1))
    try await pair.first.becomes(ShopConfig())
    try pair.backend.reunite("second")
    try await pair.first.value { $0.maxItems == 2 }
    #expect(pair.second.saveError == nil)
  }

  @Test("An external deletion leaves a tombstone with a newer revision", arguments: BackendKind.allCases)
  func foreignDelete(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    let revision = try #require(try await pair.stores.0.metadata(for: "value")?.revision)
    try pair.backend.delete("value")
    try await pair.first.becomes(0)
    try await pair.second.becomes(0)
    try await eventually("a tombstone exists") { try pair.backend.get("meta:{value}")?.split(separator: " ")[2] == "d" }
    #expect(try #require(try await pair.stores.0.metadata(for: "value")?.revision) > revision)
  }

  @Test(
    "An external expiry returns every service to its default and leaves a tombstone",
    arguments: BackendKind.allCases
  )
  func foreignExpiry(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    try pair.backend.expire("value", after: .milliseconds(200))
    try await pair.first.becomes(0)
    try await pair.second.becomes(0)
    try await eventually("a tombstone exists") { try pair.backend.get("meta:{value}")?.split(separator: " ")[2] == "d" }
  }

  @Test(
    "An external edit of a value with a time to live renews that once it is adopted",
    arguments: BackendKind.allCases
  )
  func editRenews(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0, options: .init(timeToLive: .seconds(3_600)))
    try await pair.store(1)
    try pair.backend.set("value", "2")
    try await pair.second.becomes(2)
    try await eventually("the value expires again") { try pair.backend.timeToLive(of: "value") != nil }
    let left = try #require(try pair.backend.timeToLive(of: "value"))
    #expect(left > .seconds(3_000) && left <= .seconds(3_600))
    try pair.backend.expire("value", after: .milliseconds(1))
    for share in [pair.first, pair.second] { try await share.becomes(0) }
  }

  @Test("A save keeps an external expiry", arguments: BackendKind.allCases)
  func foreignExpiryIsKept(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    try pair.backend.expire("value", after: .seconds(1_000))
    try await pair.store(2)
    let left = try #require(try pair.backend.timeToLive(of: "value"))
    #expect(left > .seconds(900) && left <= .seconds(1_000))
  }
}
