import SharedState
import Testing

@Suite("The article on server types", .timeLimit(.minutes(5)))
struct SharesInServerTypesArticleTests {
  struct CheckoutConfig: Sendable {
    var maximumItems = 10
  }

  final class CheckoutService: Sendable {
    let config: Shared<CheckoutConfig>

    init(config: Shared<CheckoutConfig>) {
      self.config = config
    }

    func isAllowed(items: Int) -> Bool {
      items <= config.wrappedValue.maximumItems
    }

    func allow(items: Int) {
      config.withLock { $0.maximumItems = items }
    }
  }

  final class Gate: Sendable {
    let limit = Shared(wrappedValue: 3, .inMemory("limit"))
  }

  actor Counter {
    @Shared(.inMemory("count")) var count = 0

    func increment() {
      $count.withLock { $0 += 1 }
    }
  }

  struct CheckoutHandler: Sendable {
    @Shared var config: CheckoutConfig

    func allow(items: Int) {
      $config.withLock { $0.maximumItems = items }
    }
  }

  @Test("A class and a struct share one value")
  func classAndStruct() {
    let service = CheckoutService(config: Shared(value: CheckoutConfig()))
    let handler = CheckoutHandler(config: service.config)
    handler.allow(items: 20)
    #expect(service.isAllowed(items: 20))
    service.allow(items: 5)
    #expect(handler.config.maximumItems == 5)
  }

  @Test("A change by an actor reaches another share of the same key")
  func changeByActor() async {
    @Shared(.inMemory("count")) var count = 0
    let counter = Counter()
    await counter.increment()
    #expect(count == 1)
  }

  @Test("An atomic update reads the values of other shares")
  func updateAcrossShares() async throws {
    @Shared(value: 10) var stock
    @Shared(.inMemory("limit")) var limit = 3
    @Shared(.inMemory("sold")) var sold = 0
    try await $stock.updateAtomically { [limit, $sold] stock in
      guard $sold.wrappedValue < limit else { return }
      stock -= 1
    }
    #expect(stock == 9)
    Gate().limit.withLock { $0 = 0 }
    try await $stock.updateAtomically { [limit, $sold] stock in
      guard $sold.wrappedValue < limit else { return }
      stock -= 1
    }
    #expect(stock == 9)
  }
}
