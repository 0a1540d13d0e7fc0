import SharedState
import SharedStateRedis
import SharedStateRedisTesting

/// Services that share many values. The first service has set all values to 1, and all services have seen that.
struct Fleet {
  let stores: [RedisStore]
  /// The shares of each store. They are held until ``shutdown()``.
  let shares: [[Shared<Int>]]

  init(
    services: Int,
    names: Int,
    on server: PrivateRedisServer,
    configure: (inout RedisConfiguration) -> Void
  ) async throws {
    stores = try Self.stores(services, on: server, configure: configure)
    shares = stores.map { store in
      (0..<names).map { Shared(wrappedValue: 0, .redis("value:\($0)", store: store)) }
    }
    for share in shares[0] { share.withLock { $0 = 1 } }
    try await stores[0].flush(within: .seconds(60))
    for share in shares.joined() { await share.becomes(1) }
  }

  /// Services that share nothing yet.
  static func stores(
    _ count: Int,
    on server: PrivateRedisServer,
    configure: (inout RedisConfiguration) -> Void
  ) throws -> [RedisStore] {
    try (0..<count).map { number in
      var configuration = try RedisConfiguration(url: server.url)
      configuration.label = "service\(number)"
      configure(&configuration)
      return RedisStore(configuration)
    }
  }

  /// Kills the server, and returns when all services have noticed.
  func lose(_ server: PrivateRedisServer) async {
    server.kill()
    for store in stores {
      for await status in store.statuses { if case .reconnecting = status { break } }
    }
  }

  func shutdown() async {
    withExtendedLifetime(shares) {}
    for store in stores { await store.shutdown(within: .seconds(5)) }
  }
}

extension Shared<Int> {
  /// Waits until the share has a value.
  func becomes(_ value: Int) async {
    guard wrappedValue != value else { return }
    for await newest in updates where newest == value { break }
  }
}
