import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The articles on guarantees", .timeLimit(.minutes(5)), .dependencies)
struct GuaranteeArticlesTests {
  private struct Invalid: Error {
    init(_ reason: String) {}
  }

  struct CheckoutConfig: Codable, Sendable {
    var maximumItems = 10
  }

  @Test("A change without a connection is pending until the server accepts it")
  func aPendingChangeSurvives() async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    defer { store.stop() }
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    server.refuseConnections()
    $config.withLock { $0.maximumItems = 20 }
    #expect(config.maximumItems == 20)
    server.acceptConnections()
    try await store.flush(within: .seconds(5))
    #expect(server.get("checkout:config") == #"{"maximumItems":20}"#)
  }

  @Test("A foreign edit is marked in the metadata")
  func foreignEdit() async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    defer { store.stop() }
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    try await $config.load()
    server.set("checkout:config", #"{"maximumItems":20}"#)
    try await $config.updates.first(within: .seconds(10)) { $0.maximumItems == 20 }
    let metadata = try await store.metadata(for: "checkout:config")
    if let metadata, metadata.isForeign { print("Somebody has edited the config by hand.") }
    #expect(metadata?.isForeign == true)
  }

  @Test("Bad data is replaced only on request")
  func replacedBadData() async throws {
    let server = InProcessRedis()
    server.set("checkout:config", "nonsense")
    let store = RedisStore.inProcess(server)
    defer { store.stop() }
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    await #expect(throws: RedisSharedStateError.self) { try await $config.load() }
    await #expect(throws: RedisSharedStateError.self) { try await $config.save() }
    try await $config.save(replacingUnreadable: true)
    #expect(server.get("checkout:config") == #"{"maximumItems":10}"#)
  }

  @Test("A change that breaks the rule of its key is not saved")
  func brokenRule() async throws {
    @Shared(
      .redis(
        "checkout:config",
        validate: { @Sendable config in
          guard config.maximumItems > 0 else { throw Invalid("maximumItems has to be positive") }
        }
      )
    )
    var config = CheckoutConfig()
    $config.withLock { $0.maximumItems = 0 }
    await #expect(throws: RedisSharedStateError.self) { try await $config.save() }
  }

  @Test("A namespace in the URL is a prefix")
  func namespacePrefix() throws {
    let configuration = try RedisConfiguration(url: "redis://127.0.0.1:6379?namespace=shop:")
    #expect(configuration.namespace == "shop:")
  }
}
