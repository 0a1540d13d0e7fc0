import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateTesting
import Testing

/// The samples of "Time to live", "Shutting down" and "Redis keys and channels".
@Suite("The articles on values in Redis", .timeLimit(.minutes(5)), .dependencies)
struct ServerArticlesTests {
  struct CheckoutConfig: Codable, Sendable {
    var maximumItems = 10
  }

  /// Not run, because it is about the end of the process.
  private func launch() {
    RedisStore.default.flushAtExit(within: .seconds(5))
  }

  @Test("A value is saved with its time to live, and a reset returns its default")
  func aValueEnds() async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    try await withDependencies {
      $0.defaultRedisStore = store
    } operation: {
      @Shared(.redis("offer", options: .init(timeToLive: .seconds(3_600)))) var offer = ""
      $offer.withLock { $0 = "Half price" }
      try await $offer.save()
      #expect(server.timeToLive(of: "offer") ?? .zero > .seconds(3_500))
      try await $offer.reset()
      #expect(offer == "")
    }
    await store.shutdown(within: .seconds(5))
    #expect(store.status == .stopped)
  }

  @Test("A saved value has metadata, and all keys of its store begin with the namespace")
  func storedMetadata() async throws {
    let server = InProcessRedis()
    var configuration = RedisConfiguration.inProcess
    configuration.namespace = "shop:"
    let store = RedisStore.inProcess(server, configuration: configuration)
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    $config.withLock { $0.maximumItems = 20 }
    try await $config.save()
    try await store.flush(within: .seconds(5))
    let metadata = try await store.metadata(for: "checkout:config")
    #expect(metadata != nil)
    #expect(
      server.keys == [
        "shop:checkout:config", "shop:meta:{shop:checkout:config}", "shop:ops:{shop:checkout:config}", "shop:secret:{}",
      ]
    )
    await store.shutdown(within: .seconds(5))
  }
}
