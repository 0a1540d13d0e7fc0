import SharedStateRedis
import ShopConfig

@main
struct Office {
  static func main() async throws {
    @Shared(.shopConfig) var config
    print("How many items may an order have?")
    while let line = readLine() {
      guard let number = Int(line) else { continue }
      $config.withLock { $0.maximumItems = number }
      try await $config.save()
      print("Saved.")
    }
  }
}
