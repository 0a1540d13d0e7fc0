import Foundation
import SharedStateRedisTesting
import Testing

/// The samples of "Testing with Redis", except the one that is a whole file.
@Suite("Samples for testing with Redis", .timeLimit(.minutes(5)))
struct FailingRedisTests {
  private struct CheckoutConfig: Codable, Sendable {
    var maximumItems = 10
  }

  private struct Checkout {
    @Shared(.redis("checkout:config")) var config = CheckoutConfig()
  }

  @Test("The catalog sees a change made by the checkout")
  func checkoutChange() async throws {
    let server = InProcessRedis()
    let (checkout, catalog) = (RedisStore.inProcess(server), RedisStore.inProcess(server))
    @Shared(.redis("checkout:config", store: checkout)) var config = CheckoutConfig()
    @Shared(.redis("checkout:config", store: catalog)) var copy = CheckoutConfig()

    $config.withLock { $0.maximumItems = 20 }
    try await $copy.updates.first(within: .seconds(10)) { $0.maximumItems == 20 }
  }

  @Test("A service uses the default store that it is created with")
  func defaultStore() async throws {
    let server = InProcessRedis()
    let service = RedisStore.withDefault(.inProcess(server)) { Checkout() }
    service.$config.withLock { $0.maximumItems = 20 }
    try await service.$config.save()
    #expect(server.get("checkout:config") == #"{"maximumItems":20}"#)
  }

  @Test("A sale counts once when its reply is lost")
  func lostReply() async throws {
    let server = InProcessRedis()
    @Shared(.redis("stock", store: .inProcess(server))) var stock = 10
    server.cutAfterNextCommit()
    try await $stock.updateAtomically { $0 -= 1 }
    #expect(server.get("stock") == "9")
  }

  @Test("An edit by another program is seen, and a later change replaces it")
  func anotherProgramEdits() async throws {
    let server = try PrivateRedisServer()
    let store = RedisStore(try RedisConfiguration(url: server.url))
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    try await $config.load()

    try server.command("SET", "checkout:config", #"{"maximumItems":5}"#)
    try await $config.updates.first(within: .seconds(10)) { $0.maximumItems == 5 }

    try server.pause()
    $config.withLock { $0.maximumItems = 30 }
    try server.resume()
    try await $config.save()
    #expect(try server.command("GET", "checkout:config").text == #"{"maximumItems":30}"#)
    await store.shutdown(within: .seconds(5))
  }

  @Test("A change made while the server is down is stored after a restart")
  func changeDuringOutage() async throws {
    let server = try PrivateRedisServer(isPersistent: true)
    let store = RedisStore(try RedisConfiguration(url: server.url))
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    try await $config.load()

    server.kill()
    $config.withLock { $0.maximumItems = 20 }
    #expect(config.maximumItems == 20)

    try server.restart()
    try await store.flush(within: .seconds(30))
    #expect(try server.command("GET", "checkout:config").text == #"{"maximumItems":20}"#)
    await store.shutdown(within: .seconds(5))
  }

  @Test("A history of one saved change has no violations")
  func aHistoryIsJudged() async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    let box = RedisHistory.Box(service: "checkout", name: "checkout:config")
    var history = RedisHistory()
    history.record(.opened(box, default: try .init(of: config), owns: ["maximumItems"]))
    history.record(.changed(box, number: 1, ["maximumItems": "20"]))
    $config.withLock { $0.maximumItems = 20 }
    try await $config.save()
    history.record(.saved(box, through: 1))

    let metadata = try await store.metadata(for: "checkout:config")
    let document = RedisHistory.Document(json: Data((server.get("checkout:config") ?? "").utf8)) ?? [:]
    let stored = RedisHistory.Stored(revision: metadata?.revision ?? 0, .document(document))
    history.record(.rested(.init(stored: [box.name: stored], boxes: [.init(box, try .init(of: config))])))
    #expect(history.violations() == [])
    await store.shutdown(within: .seconds(5))
  }
}
