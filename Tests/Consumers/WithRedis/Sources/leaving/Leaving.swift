import SharedStateRedis

/// Changes a value. `leaving` then ends at once; `leaving delivers` ends when the change is delivered.
@main
struct Leaving {
  static func main() {
    if CommandLine.arguments.contains("delivers") { RedisStore.default.flushAtExit(within: .seconds(10)) }
    @Shared(.redis("left")) var count = 0
    $count.withLock { $0 = 1 }
  }
}
