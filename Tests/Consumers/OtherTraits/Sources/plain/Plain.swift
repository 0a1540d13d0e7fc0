import SharedStateRedis

/// Saves a value at the server of `REDIS_URL`, and says why not.
@main
struct Plain {
  static func main() async {
    do {
      let store = try RedisStore.fromEnvironment(requireServer: true)
      @Shared(.redis("count", store: store)) var count = 0
      try await $count.updateAtomically { $0 += 1 }
      print("The count is \(count).")
      await store.shutdown(within: .seconds(5))
    } catch {
      print("\(error)")
    }
  }
}
