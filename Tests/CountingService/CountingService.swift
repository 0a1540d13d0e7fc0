import Foundation
import Logging
import SharedState
import SharedStateRedis

/// Increments the value `count` from twenty tasks until the value `isEnough` is true, and then prints the number of its
/// updates: `CountingService URL`.
@main
struct CountingService {
  static func main() async throws {
    guard CommandLine.arguments.count == 2 else { exit(2) }
    let quiet = Logger(label: "counting-service") { _ in SwiftLogNoOpLogHandler() }
    let store = RedisStore(try configuration(url: CommandLine.arguments[1]), logger: quiet)
    @Shared(.redis("count", store: store)) var count = 0
    @SharedReader(.redis("isEnough", store: store)) var isEnough = false
    let updates = try await withThrowingTaskGroup(of: Int.self) { [$count, $isEnough] group in
      for _ in 0..<20 {
        group.addTask {
          var updates = 0
          while !$isEnough.wrappedValue {
            try await $count.updateAtomically { $0 += 1 }
            updates += 1
          }
          return updates
        }
      }
      var total = 0
      for try await updates in group { total += updates }
      return total
    }
    await store.shutdown(within: .seconds(30))
    print(updates)
  }

  private static func configuration(url: String) throws -> RedisConfiguration {
    var configuration = try RedisConfiguration(url: url)
    configuration.label = "process"
    configuration.backoff = .init(base: .milliseconds(5), cap: .milliseconds(100))
    return configuration
  }
}
