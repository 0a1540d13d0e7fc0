import Foundation
import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateTesting
import Testing

@Suite(.timeLimit(.minutes(1)), .dependencies)
struct RedisLandingPageTests {
  struct CheckoutConfig: Codable, Sendable {
    var maximumItems = 10
  }

  @Test func aConfigIsSharedAndDelivered() async throws {
    @Dependency(\.defaultRedisStore) var store
    @Shared(.redis("checkout:config")) var config = CheckoutConfig()
    $config.withLock { $0.maximumItems = 20 }
    try await $config.save()
    try await store.flush(within: .seconds(5))
    #expect(try await store.metadata(for: "checkout:config") != nil)
    await store.shutdown(within: .seconds(5))
    #expect(store.status == .stopped)
  }

  @Test func aProgramDecidesForItself() {
    let configuration = RedisConfiguration.inProcess
    prepareDependencies {
      $0.defaultRedisStore = RedisStore(configuration)
    }
    @Dependency(\.defaultRedisStore) var store
    // It has no server, and would look for one for ever.
    defer { store.stop() }
    #expect(store.status != .inProcess)
  }

  @Test func aStockIsSold() async throws {
    @Shared(.redis("stock")) var stock = 3
    try await $stock.updateAtomically { $0 -= 1 }
    #expect(stock == 2)
  }

  @Test func twoStoresAreTwoServices() async {
    let server = InProcessRedis()
    let (checkout, catalog) = (RedisStore.inProcess(server), RedisStore.inProcess(server))
    @Shared(.redis("checkout:config", store: checkout)) var config = CheckoutConfig()
    @Shared(.redis("checkout:config", store: catalog)) var copy = CheckoutConfig()
    $config.withLock { $0.maximumItems = 20 }
    for await config in $copy.updates where config.maximumItems == 20 { break }
    for store in [checkout, catalog] { store.stop() }
    #expect(copy.maximumItems == 20)
  }

  @Test func aHistoryIsJudged() async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    defer { store.stop() }
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    let box = History.Box(service: "checkout", name: "checkout:config")
    var history = History()
    history.record(.opened(box, default: try .init(of: config), owns: ["maximumItems"]))
    history.record(.changed(box, number: 1, ["maximumItems": "20"]))
    $config.withLock { $0.maximumItems = 20 }
    try await $config.save()
    history.record(.saved(box, through: 1))

    let metadata = try await store.metadata(for: "checkout:config")
    let document = History.Document(json: Data((server.get("checkout:config") ?? "").utf8)) ?? [:]
    let stored = History.Stored(revision: metadata?.revision ?? 0, .document(document))
    history.record(.rested(.init(stored: [box.name: stored], boxes: [.init(box, try .init(of: config))])))
    #expect(history.violations() == [])
  }
}
