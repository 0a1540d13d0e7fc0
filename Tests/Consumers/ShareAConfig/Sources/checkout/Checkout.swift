import Foundation
import SharedStateRedis
import ShopConfig

@main
struct Checkout {
  static func main() async {
    @Shared(.shopConfig) var config
    for await config in $config.updates {
      print("An order may have \(config.maximumItems) items.")
      fflush(nil)
    }
  }
}
