import Configuration
import ConfigurationSharedState
import SharedState
import SharedStateRedis
import SharedStateTesting
import Synchronization
import Testing

/// The samples of "Configuration".
@Suite("The article on configuration", .timeLimit(.minutes(5)), .dependencies)
struct ConfigurationArticleTests {
  private struct CheckoutConfig: Codable, Sendable {
    struct Order: Codable, Sendable {
      var maximumItems = 10
    }
    var order = Order()
  }

  private final class Shop: Sendable {
    let sizes = Mutex<[Int]>([])

    func resize(to size: Int) { sizes.withLock { $0.append(size) } }
  }

  private static let document = #"{"order":{"maximumItems":20,"carriers":["post","bike"]}}"#

  @Test(
    "A service reads the stored configuration unless a variable of the environment overrides it",
    arguments: [[:], ["ORDER_MAXIMUM_ITEMS": "5"]]
  )
  func aServiceReads(variables: [String: String]) async throws {
    let server = InProcessRedis()
    server.set("checkout:config", Self.document)
    let store = RedisStore.inProcess(server)
    let provider = try await SharedStateProvider("checkout:config", store: store)
    let config = ConfigReader(providers: [EnvironmentVariablesProvider(environmentVariables: variables), provider])
    let maximumItems = config.int(forKey: "order.maximumItems", default: 10)
    #expect(maximumItems == (variables.isEmpty ? 20 : 5))
    #expect(config.stringArray(forKey: "order.carriers") == ["post", "bike"])
  }

  @Test("A service that watches a value receives the change of another service")
  func watchedValue() async throws {
    let server = InProcessRedis()
    server.set("checkout:config", Self.document)
    let store = RedisStore.inProcess(server)
    let config = ConfigReader(provider: try await SharedStateProvider("checkout:config", store: store))
    let shop = Shop()
    let watch = Task {
      try await config.watchInt(forKey: "order.maximumItems", default: 10) { updates in
        for await maximumItems in updates {
          shop.resize(to: maximumItems)
        }
      }
    }
    try await eventually("the first size") { shop.sizes.withLock { $0 } == [20] }
    @Shared(.redis("checkout:config", store: store)) var checkout = CheckoutConfig()
    $checkout.withLock { $0.order.maximumItems = 30 }
    try await eventually("the second size") { shop.sizes.withLock { $0 } == [20, 30] }
    watch.cancel()
    try await watch.value
  }

  @Test("A reader uses its default if its provider allows a missing document")
  func missingDocument() async throws {
    let store = RedisStore.inProcess()
    let provider = try await SharedStateProvider("checkout:config", store: store, allowMissing: true)
    #expect(ConfigReader(provider: provider).int(forKey: "order.maximumItems", default: 10) == 10)
  }

  @Test("A secrets specifier marks only the matching keys as secrets")
  func valuesAreSecrets() async throws {
    let server = InProcessRedis()
    server.set("checkout:config", #"{"payment":{"token":"abc","name":"card"}}"#)
    let store = RedisStore.inProcess(server)
    let options = JSONSnapshot.ParsingOptions(secretsSpecifier: .dynamic { key, _ in key.hasSuffix("token") })
    let provider = try await SharedStateProvider("checkout:config", store: store, options: options)
    #expect(try provider.value(forKey: "payment.token", type: .string).value?.isSecret == true)
    #expect(try provider.value(forKey: "payment.name", type: .string).value?.isSecret == false)
  }

  @Test("A store is configured by a configuration reader")
  func theStoreIsConfigured() throws {
    let variables = ["REDIS_URL": "unix:///nowhere", "REDIS_NAMESPACE": "shop:"]
    let config = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables))
    let store = RedisStore(try RedisConfiguration(config: config.scoped(to: "redis")))
    #expect(store.status != .inProcess)
  }
}
