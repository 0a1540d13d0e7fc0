import Foundation
import SharedStateRedis
import ShopConfig

@main
struct Checkout {
  static func main() async throws {
    RedisStore.fromEnvironmentOrExit()  // or the program ends and says what is wrong with REDIS_URL
    @Shared(.shopConfig) var config
    try await $config.load()
    for await config in $config.updates {
      print("An order may have \(config.maximumItems) items.")
      fflush(nil)
    }
  }
}
