import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("AcknowledgedSurvives", .timeLimit(.minutes(5)), .endsStores)
struct AcknowledgedSurvivesTests {
  @Test(
    "The newest value and its metadata are restored after a restart without data or from an old dump",
    arguments: BackendKind.allCases,
    [false, true]
  )
  func restart(kind: BackendKind, hasDump: Bool) async throws {
    let backend = try kind.makeForgetful()
    let journal = Journal()
    let stores = try (1...3).map { try backend.store("service\($0)", logger: journal.logger("service\($0)")) }
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    shares[0].withLock { $0 = 1 }
    try await shares[0].save()
    if hasDump { try backend.saveDump() }
    shares[1].withLock { $0 = 2 }
    try await shares[1].save()
    for share in shares { try await share.becomes(2) }
    let before = try #require(try await stores[0].metadata(for: "count"))

    try backend.restartFromDump()
    try await eventually("the value is restored") { try backend.get("count") == "2" }
    for (store, share) in zip(stores, shares) {
      try await store.isUp()
      try await share.load()
      #expect(share.wrappedValue == 2)
    }
    #expect(try await stores[0].metadata(for: "count") == before)
    try await eventually("the restoration is logged") {
      // A service that has read only the earlier change may have restored that first.
      !journal.entries(Journal.restored).isEmpty
    }
    #expect(!journal.entries(Journal.lostHistory, name: "count").isEmpty)
    // Revisions continue from there.
    shares[2].withLock { $0 = 3 }
    try await shares[2].save()
    for share in shares { try await share.becomes(3) }
  }

  @Test(
    "Services adopt the server's value after a data loss under .adoptServer",
    arguments: BackendKind.allCases,
    [false, true]
  )
  func adoptServer(kind: BackendKind, hasDump: Bool) async throws {
    let backend = try kind.makeForgetful()
    let journal = Journal()
    let stores = try (1...2).map { number in
      try backend.store("service\(number)", logger: journal.logger("service\(number)")) {
        $0.dataLossPolicy = .adoptServer
      }
    }
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    shares[0].withLock { $0 = 1 }
    try await shares[0].save()
    if hasDump { try backend.saveDump() }
    shares[1].withLock { $0 = 2 }
    try await shares[1].save()
    for share in shares { try await share.becomes(2) }

    try backend.restartFromDump()
    for share in shares { try await share.becomes(hasDump ? 1 : 0) }
    #expect(try backend.get("count") == (hasDump ? "1" : nil))
    #expect(journal.entries(Journal.restored) == [])
    shares[0].withLock { $0 = 3 }
    try await shares[0].save()
    for share in shares { try await share.becomes(3) }
  }

  @Test("A change that was in flight during a data loss is merged into the restored value", arguments: [false, true])
  func changeUnderWay(takesEffect: Bool) async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("limits", store: store)) var limits = Limits()
    $limits.withLock { $0.maximum = 20 }
    try await $limits.save()
    backend.redis.refuseConnections(keepingOpenConnections: true)
    if takesEffect { backend.redis.cutAfterNextCommit() } else { backend.redis.cutBeforeNextCommit() }
    $limits.withLock { $0.note = "on its way" }
    try await store.isDown()
    backend.redis.loseData()
    backend.redis.acceptConnections()
    try await store.flush(within: patience)
    #expect(limits == Limits(maximum: 20, note: "on its way"))
    let other = try backend.store("other")
    @Shared(.redis("limits", store: other)) var others = Limits()
    try await $others.becomes(Limits(maximum: 20, note: "on its way"))
    #expect($limits.saveError == nil)
  }

  @Test("A lost value is restored even if many loads are waiting when the loss is detected")
  func manyReads() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    backend.redis.refuseConnections()
    backend.redis.loseData()
    try await store.isDown()
    backend.redis.pause()
    backend.redis.acceptConnections()
    let loading = (1...20).map { _ in Task { [$count] in try await $count.load() } }
    backend.redis.resume()
    for load in loading { try await load.value }
    #expect(count == 1)
    try await eventually("the value is restored") { backend.get("count") == "1" }
  }

  @Test("A value is restored after a FLUSHALL while no service is connected", arguments: BackendKind.allCases)
  func flushedWhileAway(kind: BackendKind) async throws {
    let backend = try kind.make()
    let way = Way()
    let store = try backend.store(way: way)
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    try await backend.cutOff(store, "service", way)
    try backend.flushAll()
    way.open()
    try await eventually("the value is restored") { try backend.get("count") == "1" }
    #expect(count == 1)
  }

  @Test(
    "A change accepted by the server after a data loss wins the merge, and the lost change is reported",
    arguments: BackendKind.allCases
  )
  func writeInBetween(kind: BackendKind) async throws {
    let backend = try kind.makeForgetful()
    let journal = Journal()
    let way = Way()
    let witness = try backend.store("witness", logger: journal.logger("witness"), way: way)
    @Shared(.redis("count", store: witness)) var seen = 0
    $seen.withLock { $0 = 1 }
    try await $seen.save()
    try backend.saveDump()
    $seen.withLock { $0 = 2 }
    try await $seen.save()

    try await backend.cutOff(witness, "witness", way)
    try backend.restartFromDump()
    let newcomer = try backend.store("newcomer")
    @Shared(.redis("count", store: newcomer)) var written = 0
    try await $written.becomes(1)
    $written.withLock { $0 = 50 }
    // One commit is enough: it names the version it was made from, which reveals the loss.
    try await newcomer.flush(within: patience)
    let metadata = try await newcomer.metadata(for: "count")

    way.open()
    try await $seen.becomes(50)
    try await $seen.load()
    #expect(try backend.get("count") == "50")
    // The merged value has a revision above both.
    let merged = try #require(try await witness.metadata(for: "count"))
    #expect(merged.revision > (metadata?.revision ?? 0))
    try await $seen.status { ($0.saveError as? RedisSharedStateError)?.code == .conflict }
    try await eventually("the lost change is logged") {
      journal.entries(Journal.unmerged, name: "count").map(\.level) == [.error]
    }
    #expect(journal.entries(Journal.merged) == [])
    #expect(journal.entries(Journal.lostHistory, name: "count").count == 1)
    #expect(journal.entries(Journal.restored) == [])
  }

  @Test("A deleted value stays deleted after a restart from an old dump", arguments: BackendKind.allCases)
  func tombstone(kind: BackendKind) async throws {
    let backend = try kind.makeForgetful()
    let (first, second) = (try backend.store("first"), try backend.store("second"))
    @Shared(.redis("count", store: first)) var count = 0
    @Shared(.redis("count", store: second)) var others = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    try await $others.becomes(1)
    try backend.saveDump()
    try await $count.reset()
    try await $others.becomes(0)
    let tombstone = try await first.metadata(for: "count")

    try backend.restartFromDump()
    try await eventually("the value is deleted again") { try backend.get("count") == nil }
    try await $others.load()
    #expect(count == 0 && others == 0)
    #expect(try await first.metadata(for: "count") == tombstone)
  }

  @Test(
    "A change made while the server is unreachable is merged into the value that the server lost",
    arguments: BackendKind.allCases
  )
  func pendingChange(kind: BackendKind) async throws {
    let backend = try kind.makeForgetful()
    let way = Way()
    let store = try backend.store(way: way)
    @Shared(.redis("limits", store: store)) var limits = Limits()
    $limits.withLock { $0.maximum = 20 }
    try await $limits.save()
    try await backend.cutOff(store, "service", way)
    $limits.withLock { $0.note = "made offline" }
    try backend.restartFromDump()
    way.open()
    try await store.flush(within: patience)
    #expect(limits == Limits(maximum: 20, note: "made offline"))
    let other = try backend.store("other")
    @Shared(.redis("limits", store: other)) var others = Limits()
    try await $others.becomes(limits)
  }

  @Test("An evicted value is restored with its metadata by exactly one service", arguments: BackendKind.allCases)
  func eviction(kind: BackendKind) async throws {
    let backend: any Backend
    switch kind {
    case .fake:
      let fake = FakeBackend()
      backend = fake
    case .server:
      backend = try ServerBackend(configuration: ["maxmemory-policy allkeys-lru"])
    }
    let journal = Journal()
    let stores = try (1...3).map { try backend.store("service\($0)", logger: journal.logger("service\($0)")) }
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    shares[0].withLock { $0 = 1 }
    try await shares[0].save()
    for share in shares { try await share.becomes(1) }
    let before = try #require(try await stores[0].metadata(for: "count"))
    if let server = (backend as? ServerBackend)?.server {
      // The server evicts everything, including metadata.
      try server.command("CONFIG", "SET", "maxmemory", "1")
      try await eventually("the server is empty") { try server.command("DBSIZE").text == "0" }
      try server.command("CONFIG", "SET", "maxmemory", "0")
    } else {
      (backend as? FakeBackend)?.redis.evict("count")
    }
    try await eventually("the value is restored") { try backend.get("count") == "1" }
    for share in shares { try await share.load() }
    #expect(shares.allSatisfy { $0.wrappedValue == 1 })
    #expect(try await stores[0].metadata(for: "count") == before)
    try await eventually("one service restores it") { journal.entries(Journal.restored, name: "count").count == 1 }
    #expect(journal.entries(Journal.adopted) == [])
  }

  @Test(
    "Two histories are merged even if the clock of the restarted server is behind or ahead",
    arguments: [-3_600, -10, -1, 0, 1, 10]
  )
  func clocks(seconds: Int) async throws {
    let backend = FakeBackend()
    let way = Way()
    let store = try backend.store("first", way: way)
    @Shared(.redis("limits", store: store)) var limits = Limits()
    $limits.withLock { $0.maximum = 1 }
    try await $limits.save()
    backend.saveDump()
    $limits.withLock { $0.maximum = 20 }
    try await $limits.save()
    way.close()
    backend.restartFromDump()
    backend.redis.advanceClock(by: .seconds(seconds))
    let other = try backend.store("second")
    @Shared(.redis("limits", store: other)) var others = Limits()
    try await $others.becomes(Limits(maximum: 1))
    $others.withLock { $0.note = "accepted" }
    try await $others.save()
    way.open()
    for share in [$limits, $others] { try await share.becomes(Limits(maximum: 20, note: "accepted")) }
  }

  @Test("A missing value counts as deleted on a server that evicts only expiring keys")
  func volatileEviction() async throws {
    let backend = try ServerBackend(configuration: ["maxmemory-policy volatile-lru"])
    // It does evict: the only key that expires.
    try backend.server.command("SET", "expiring", "1", "EX", "3600")
    try backend.server.command("CONFIG", "SET", "maxmemory", "1")
    try await eventually("a key is evicted") { try backend.evictions > 0 }
    try backend.server.command("CONFIG", "SET", "maxmemory", "0")
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    try backend.delete("count")
    try await $count.becomes(0)
    try await eventually("the deletion is adopted") {
      try backend.get("meta:{count}").flatMap { Meta($0) }?.kind == .deleted
    }
    #expect(try backend.get("count") == nil)
    #expect(count == 0)
  }
}
