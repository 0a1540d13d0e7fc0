import SharedStateRedisTesting
import Testing

@Suite("Two services on one Redis", .timeLimit(.minutes(5)))
struct CheckoutTests {
  struct CheckoutConfig: Codable, Sendable {
    var maximumItems = 10
  }

  @Test("A change reaches the other service")
  func changeAcrossServices() async throws {
    let server = try PrivateRedisServer()
    let checkout = RedisStore(try RedisConfiguration(url: server.url))
    let catalog = RedisStore(try RedisConfiguration(url: server.url))
    @Shared(.redis("checkout:config", store: checkout)) var config = CheckoutConfig()
    @Shared(.redis("checkout:config", store: catalog)) var copy = CheckoutConfig()

    $config.withLock { $0.maximumItems = 20 }
    try await $copy.updates.first(within: .seconds(10)) { $0.maximumItems == 20 }

    #expect(try server.command("GET", "checkout:config").text == #"{"maximumItems":20}"#)
    for store in [checkout, catalog] { await store.shutdown(within: .seconds(5)) }
  }
}
