import Foundation
import SharedStateRedis
import ShopConfig

@main
struct Checkout {
  static func main() async throws {
    @Shared(.shopConfig) var config
    try await $config.load()
    for await config in $config.updates {
      print("An order may have \(config.maximumItems) items.")
      fflush(nil)
    }
  }
}
