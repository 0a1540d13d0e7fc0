import SharedState
import SharedStateRedis
import Testing

@Suite("The article on atomic updates", .timeLimit(.minutes(5)))
struct AtomicUpdatesArticleTests {
  struct SoldOut: Error {}

  struct CheckoutConfig: Codable, Sendable {
    var orders = 0
    var lastOrder = ""
  }

  @Test("Two services sell from one stock until it is sold out")
  func sharedStock() async throws {
    let server = InProcessRedis()
    let (store, other) = (RedisStore.inProcess(server), RedisStore.inProcess(server))
    defer { for store in [store, other] { store.stop() } }
    @Shared(.redis("stock", store: store)) var stock = 2
    @Shared(.redis("stock", store: other)) var sameStock = 2
    try await $stock.updateAtomically { stock in
      guard stock > 0 else { throw SoldOut() }
      stock -= 1
    }
    try await $sameStock.updateAtomically { $0 -= 1 }
    await #expect(throws: SoldOut.self) {
      try await $stock.updateAtomically { stock in
        guard stock > 0 else { throw SoldOut() }
        stock -= 1
      }
    }
    #expect(server.get("stock") == "0")
  }

  @Test("A part is updated and the result of its update is returned")
  func updatedPart() async throws {
    @Shared(.redis("checkout:config")) var config = CheckoutConfig()
    let number = try await $config.orders.updateAtomically { orders in
      orders += 1
      return orders
    }
    #expect(number == 1)
    #expect(config.orders == 1)
  }

  @Test("An atomic update that handles an unknown outcome is applied")
  func unknownOutcome() async throws {
    @Shared(.redis("checkout:config")) var config = CheckoutConfig()
    do {
      try await $config.updateAtomically { $0.lastOrder = "A-17" }
    } catch RedisSharedStateError.Code.outcomeUnknown {
      try await $config.load()
      if config.lastOrder != "A-17" { print("Place the order again.") }
    }
    #expect(config.lastOrder == "A-17")
  }
}
