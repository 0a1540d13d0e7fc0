import SharedState
import SharedStateRedis
import SharedStateTesting
import Testing

private struct Invalid: Error {
  init(_ reason: String) {}
}

struct CheckoutConfig: Codable, Sendable {
  var maximumItems = 10
}

extension SharedReaderKey where Self == RedisSharedKey<CheckoutConfig>.Default {
  static var checkoutConfig: Self {
    let key = RedisSharedKey<CheckoutConfig>.redis("checkout:config") { config in
      guard config.maximumItems > 0 else { throw Invalid("maximumItems has to be positive") }
    }
    return Self[key, default: CheckoutConfig()]
  }
}

@Suite("The rules of type-safe keys", .dependencies, .timeLimit(.minutes(5)))
struct RulesArticleTests {
  private struct Service {
    @Shared(.checkoutConfig) var config
  }

  @Test("A type-safe key accepts only values that follow its rule")
  func typeSafeRule() async throws {
    let service = Service()
    service.$config.withLock { $0.maximumItems = 0 }
    await #expect(throws: RedisSharedStateError.self) { try await service.$config.save() }
    service.$config.withLock { $0.maximumItems = 1 }
    try await service.$config.save()
  }
}
