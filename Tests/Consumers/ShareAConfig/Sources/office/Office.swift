import SharedStateRedis
import ShopConfig

@main
struct Office {
  static func main() async throws {
    RedisStore.fromEnvironmentOrExit()  // or the program ends and says what is wrong with REDIS_URL
    @Shared(.shopConfig) var config
    print("How many items may an order have?")
    while let line = readLine() {
      guard let number = Int(line) else { continue }
      $config.withLock { $0.maximumItems = number }
      do {
        try await $config.save(within: .seconds(2))
        print("Saved.")
      } catch {
        print("Not saved yet: \(error)")
      }
    }
  }
}
