import Foundation
@testable import RedisConnectionContract
import SharedState
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Reset", .timeLimit(.minutes(5)), .endsStores)
struct ResetTests {
  @Test(
    "A reset deletes the stored value and returns every service to its own default",
    arguments: BackendKind.allCases
  )
  func everybodyReturns(kind: BackendKind) async throws {
    let backend = try kind.make()
    let stores = try (0..<3).map { try backend.store("service\($0)") }
    let shares = stores.enumerated().map { Shared(wrappedValue: -$0.offset, .redis("count", store: $0.element)) }
    for share in shares { try await share.load() }
    shares[0].withLock { $0 = 7 }
    for share in shares { try await share.becomes(7) }
    try await shares[1].reset()
    #expect(shares[1].wrappedValue == -1)
    for (index, share) in shares.enumerated() { try await share.becomes(-index) }
    #expect(try backend.get("count") == nil)
    let meta = try #require(try backend.get("meta:{count}")).split(separator: " ")
    #expect(meta[2] == "d")
    #expect(try #require(try backend.timeToLive(of: "meta:{count}")) > .seconds(6 * 86_400))
    #expect(try await stores[0].metadata(for: "count")?.revision == UInt64(meta[0]))
  }

  @Test("A value can be changed again after a reset", arguments: BackendKind.allCases)
  func again(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    for round in 1...10 {
      try await pair.store(round)
      try await (round.isMultiple(of: 2) ? pair.first : pair.second).reset()
      try await pair.first.becomes(0)
      try await pair.second.becomes(0)
    }
  }

  @Test("A reset succeeds if nothing is stored", arguments: BackendKind.allCases)
  func nothingStored(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 4)
    try await pair.first.reset()
    #expect(pair.first.wrappedValue == 4)
    #expect(try pair.backend.get("value") == nil)
  }

  @Test("A reset discards earlier pending changes", arguments: BackendKind.allCases)
  func pendingChange(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0 = 2 }
    let resetting = Task { [second = pair.second] in try await second.reset() }
    try pair.backend.reunite("second")
    try await resetting.value
    #expect(pair.second.wrappedValue == 0)
    try await pair.first.becomes(0)
    try await pair.settle()
    #expect(pair.stores.1.pendingChanges == 0)
    #expect(pair.second.saveError == nil)
  }

  @Test(
    "A value equals its default when a reset returns, even if a change was pending",
    arguments: BackendKind.allCases
  )
  func defaultOnReturn(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    for round in 1...50 {
      pair.first.withLock { $0 = round }
      if round.isMultiple(of: 2) { await Task.yield() }
      try await pair.first.reset()
      #expect(pair.first.wrappedValue == 0)
    }
    try await pair.settle()
    #expect(pair.second.wrappedValue == 0)
    #expect(try pair.backend.get("value") == nil)
  }

  @Test("A change made during a reset survives it", arguments: BackendKind.allCases)
  func laterChange(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    try pair.backend.pause()
    let counter = pair.stores.0.pendingChanges
    let resetting = Task { [first = pair.first] in try await first.reset() }
    try await eventually("the reset is pending") { pair.stores.0.pendingChanges != counter }
    pair.first.withLock { $0 = 2 }
    try pair.backend.resume()
    try await resetting.value
    #expect(pair.first.wrappedValue == 2)
    try await pair.second.becomes(2)
    try await pair.settle()
    #expect(try pair.backend.get("value") == "2")
  }

  @Test("A change made right after a reset survives", arguments: BackendKind.allCases)
  func changeAfterwards(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    for round in 1...10 {
      try await pair.store(ShopConfig(currency: "EUR", tags: ["\(round)"]))
      try await pair.first.reset()
      pair.first.withLock { $0.maxItems = round }
      try await pair.second.becomes(ShopConfig(maxItems: round))
    }
  }

  @Test("Late messages never bring back a value that was reset", arguments: BackendKind.allCases)
  func lateMessages(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    let revision = try #require(try await pair.stores.0.metadata(for: "value")?.revision)
    try await pair.first.reset()
    try await pair.second.becomes(0)
    for (late, parent, text) in [(revision, 0, "1"), (revision + 1, revision, "9")] {
      let message = ChangeMessage(
        revision: Revision(late),
        parent: Revision(parent),
        writer: "other@host/1/n",
        content: .document(Data(text.utf8))
      )
      try pair.backend.publish(message, on: "changes:{value}", provenBy: pair.backend.secret())
    }
    // Messages and requests have no common order, so the test waits for a change of another value that follows both.
    @Shared(.redis("other", store: pair.stores.0)) var sent = 0
    @Shared(.redis("other", store: pair.stores.1)) var received = 0
    try await $received.load()
    $sent.withLock { $0 = 1 }
    try await $received.becomes(1)
    #expect(pair.first.wrappedValue == 0)
    #expect(pair.second.wrappedValue == 0)
    #expect(try pair.backend.get("value") == nil)
  }

  @Test("A service that was disconnected does not bring back a value that was reset", arguments: BackendKind.allCases)
  func lateService(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    try await pair.first.reset()
    #expect(pair.second.wrappedValue == 1)
    try pair.backend.reunite("second")
    try await pair.second.becomes(0)
    try await pair.settle()
    #expect(try pair.backend.get("value") == nil)
  }

  @Test("An atomic update after a reset starts from the default", arguments: BackendKind.allCases)
  func updateAfterwards(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 100)
    try await pair.store(1)
    try await pair.first.reset()
    try await pair.first.updateAtomically { $0 += 1 }
    #expect(pair.first.wrappedValue == 101)
    try await pair.second.becomes(101)
  }

  @Test(
    "A reset throws if Redis is unreachable and takes effect once it is reachable again",
    arguments: BackendKind.allCases
  )
  func deadline(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store("service") { $0.operationTimeout = .milliseconds(100) }
    let other = try backend.store("other")
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var others = 0
    try await $others.load()
    $count.withLock { $0 = 1 }
    try await store.flush(within: patience)
    try await $others.becomes(1)
    try backend.goDown()
    try await store.isDown()
    await #expect(throws: RedisSharedStateError.self) { try await $count.reset() }
    try backend.comeBack()
    try await $others.becomes(0)
    try await $count.becomes(0)
  }

  @Test("A reset returns an in-memory value to its default")
  func inMemory() async throws {
    @Shared(.inMemory("reset")) var count = 3
    @Shared(.inMemory("reset")) var same = 0
    $count.withLock { $0 = 4 }
    try await $same.reset()
    #expect(count == 3 && same == 3)
  }
}
