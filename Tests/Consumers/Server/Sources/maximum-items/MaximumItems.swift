import SharedStateRedis

struct CheckoutConfig: Codable, Sendable {
  var maximumItems = 10
}

@main
struct MaximumItems {
  static func main() async throws {
    let store = RedisStore.fromEnvironmentOrExit()
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    try await $config.load(within: .seconds(5))
    if let number = CommandLine.arguments.dropFirst().first.flatMap({ Int($0) }) {
      $config.withLock { $0.maximumItems = number }
      try await $config.save(within: .seconds(5))
    }
    print("An order may have \(config.maximumItems) items.")
  }
}
