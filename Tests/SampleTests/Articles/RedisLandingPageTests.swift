import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateTesting
import Testing

@Suite("The landing page of SharedStateRedis", .timeLimit(.minutes(5)), .dependencies)
struct RedisLandingPageTests {
  struct CheckoutConfig: Codable, Sendable {
    var maximumItems = 10
  }

  @Test("A saved config has metadata, and its store stops at the shutdown")
  func savedConfig() async throws {
    @Dependency(\.defaultRedisStore) var store
    @Shared(.redis("checkout:config")) var config = CheckoutConfig()
    $config.withLock { $0.maximumItems = 20 }
    try await $config.save()
    try await store.flush(within: .seconds(5))
    #expect(try await store.metadata(for: "checkout:config") != nil)
    await store.shutdown(within: .seconds(5))
    #expect(store.status == .stopped)
  }

  @Test("A program sets its own default store")
  func ownDefaultStore() throws {
    let configuration = RedisConfiguration.inProcess
    try RedisStore.setDefault(RedisStore(configuration))
    // The store has no server, and would look for one for ever.
    defer { RedisStore.default.stop() }
    #expect(RedisStore.default.status != .inProcess)
  }

  @Test("A stock is reduced by an atomic update")
  func aStockIsSold() async throws {
    @Shared(.redis("stock")) var stock = 3
    try await $stock.updateAtomically { $0 -= 1 }
    #expect(stock == 2)
  }
}
