import SharedStateRedisTesting
import ShopConfig
import Testing

@Suite("A shared shop config", .timeLimit(.minutes(5)))
struct ShopConfigTests {
  /// The config as seen by a service with a store of its own on the server.
  private func config(on server: InProcessRedis) -> Shared<ShopConfig> {
    RedisStore.withDefault(.inProcess(server)) { Shared(.shopConfig) }
  }

  @Test("The checkout sees a change made by the office")
  func officeChange() async throws {
    let server = InProcessRedis()
    let (office, checkout) = (config(on: server), config(on: server))

    office.withLock { $0.maximumItems = 20 }
    try await checkout.updates.first(within: .seconds(10)) { $0.maximumItems == 20 }
  }

  @Test("Concurrent changes to different fields are both kept")
  func bothKeepTheirChanges() async throws {
    let server = InProcessRedis()
    let (office, checkout) = (config(on: server), config(on: server))
    try await office.load()
    try await checkout.load()

    server.pause()
    office.withLock { $0.maximumItems = 20 }
    checkout.withLock { $0.banner = "Sale" }
    server.resume()

    try await office.updates.first(within: .seconds(10)) { $0.banner == "Sale" }
    try await checkout.updates.first(within: .seconds(10)) { $0.maximumItems == 20 }
    #expect(server.get("shop:config") == #"{"maximumItems":20,"banner":"Sale"}"#)
  }
}
