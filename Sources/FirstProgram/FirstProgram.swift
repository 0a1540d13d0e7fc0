import Foundation
import SharedStateRedis

struct CheckoutConfig: Codable, Sendable {
  var maximumItems = 10
}

@main
struct FirstProgram {
  static func main() async throws {
    RedisStore.fromEnvironmentOrExit()  // or the program ends and says what is wrong with REDIS_URL
    @Shared(.redis("checkout:config")) var config = CheckoutConfig()
    try await $config.load()  // or the program would print the default first

    if let number = CommandLine.arguments.dropFirst().first.flatMap({ Int($0) }) {
      $config.withLock { $0.maximumItems = number }
    }
    for await config in $config.updates {
      print("An order may have \(config.maximumItems) items.")
      fflush(nil)  // or a pipe would show it later
    }
  }
}
