import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Conflicts", .timeLimit(.minutes(5)), .endsStores)
struct ConflictsTests {
  private static func conflict(of error: (any Error)?) -> (local: String?, stored: String?)? {
    guard case .conflict("value", let local, let stored)? = (error as? RedisSharedStateError)?.cause else { return nil }
    let text = { (data: Data) in String(decoding: data, as: UTF8.self) }
    return (local.map(text), stored.map(text))
  }

  @Test("A rejected change is rolled back, and its error carries both values", arguments: BackendKind.allCases)
  func reject(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0, options: .init(conflict: .reject))
    try await pair.store(1)
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    let saving = Task { [second = pair.second] in try await second.save() }
    try await eventually("a change is pending") { pair.stores.1.pendingChanges > 0 }
    pair.second.withLock { $0 = 2 }
    pair.first.withLock { $0 = 3 }
    try await pair.first.save()
    try pair.backend.reunite("second")

    let error = await #expect(throws: RedisSharedStateError.self) { try await saving.value }
    let thrown = Self.conflict(of: error)
    #expect(thrown?.local == "2" && thrown?.stored == "3")
    try await pair.second.becomes(3)
    let shown = Self.conflict(of: pair.second.saveError)
    #expect(shown?.local == "2" && shown?.stored == "3")
    #expect(try pair.backend.get("value") == "3")

    // A change based on the newest value is accepted, and clears the error.
    pair.second.withLock { $0 += 1 }
    try await pair.second.save()
    try await pair.first.becomes(4)
    try await pair.second.status { $0.saveError == nil }
  }

  @Test(
    "Of two concurrent changes under .reject, only one is accepted, and both services show it",
    arguments: BackendKind.allCases
  )
  func rejectTogether(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig(), options: .init(conflict: .reject))
    for round in 1...5 {
      try pair.backend.pause()
      pair.first.withLock { $0.maxItems = 100 + round }
      pair.second.withLock { $0.delivery.days = 100 + round }
      try pair.backend.resume()
      for store in [pair.stores.0, pair.stores.1] { try? await store.flush(within: patience) }
      for share in [pair.first, pair.second] { try await share.load() }
      #expect(pair.first.wrappedValue == pair.second.wrappedValue)
      let isFirst = pair.first.wrappedValue.maxItems == 100 + round
      #expect(isFirst != (pair.first.wrappedValue.delivery.days == 100 + round))
      let loser = isFirst ? pair.second : pair.first
      #expect(Self.conflict(of: loser.saveError) != nil)
      #expect((isFirst ? pair.first : pair.second).saveError == nil)
      loser.withLock { $0.tags.append("\(round)") }
      try await loser.save()
      try await loser.status { $0.saveError == nil }
      try await (isFirst ? pair.first : pair.second).becomes(loser.wrappedValue)
    }
  }

  @Test("Under .lastWriteWins, the last write replaces the whole value", arguments: BackendKind.allCases)
  func lastWriteWins(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig(), options: .init(conflict: .lastWriteWins))
    try await pair.store(ShopConfig(currency: "EUR"))
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0.maxItems = 2 }
    pair.first.withLock { $0.delivery.days = 1 }
    try await pair.first.save()
    try pair.backend.reunite("second")
    try await pair.second.save()
    try await pair.first.becomes(ShopConfig(maxItems: 2, currency: "EUR"))
    #expect(pair.second.wrappedValue == ShopConfig(maxItems: 2, currency: "EUR"))
    #expect(pair.second.saveError == nil)
  }

  @Test("A pending change yields to a newer deletion", arguments: BackendKind.allCases)
  func tombstone(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    try await pair.store(ShopConfig(currency: "EUR"))
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0.maxItems = 2 }
    try await pair.first.reset()
    try pair.backend.reunite("second")
    try await pair.second.becomes(ShopConfig())
    let conflict = try #require(Self.conflict(of: pair.second.saveError))
    #expect(conflict.local?.contains("EUR") == true)
    #expect(conflict.stored == nil)
    try await pair.settle()
    #expect(try pair.backend.get("value") == nil)
    #expect(pair.first.wrappedValue == ShopConfig())
  }

  @Test("An explicit save throws if its change yields to a deletion", arguments: BackendKind.allCases)
  func savedTombstone(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    let saving = Task { [second = pair.second] in try await second.save() }
    try await eventually("a change is pending") { pair.stores.1.pendingChanges > 0 }
    pair.second.withLock { $0 = 2 }
    try await pair.first.reset()
    try pair.backend.reunite("second")
    let error = await #expect(throws: RedisSharedStateError.self) { try await saving.value }
    #expect(Self.conflict(of: error)?.local == "2")
    try await pair.settle()
    #expect(pair.first.wrappedValue == pair.second.wrappedValue)
  }

  @Test(
    "A pending change yields to a deletion even if nothing was stored before",
    arguments: BackendKind.allCases
  )
  func tombstoneAfterTombstone(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    try await pair.first.reset()
    try await pair.second.becomes(0)
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0 = 2 }
    pair.first.withLock { $0 = 3 }
    try await pair.first.save()
    try await pair.first.reset()
    try pair.backend.reunite("second")
    try await pair.second.becomes(0)
    try await pair.second.status { Self.conflict(of: $0.saveError)?.local == "2" }
    try await pair.settle()
    #expect(try pair.backend.get("value") == nil)
    #expect(pair.second.wrappedValue == 0)
  }

  @Test("A new service's change does not yield to an old deletion", arguments: BackendKind.allCases)
  func newService(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    try await pair.first.reset()
    let third = try pair.backend.store("third")
    @Shared(.redis("value", store: third)) var value = 0
    $value.withLock { $0 = 5 }
    try await $value.save()
    try await pair.first.becomes(5)
    try await pair.second.becomes(5)
  }
}
