import Foundation
import SharedStateRedis
import SharedStateRedisTesting

/// A private redis-server, and a connected store.
struct Scene {
  let server: PrivateRedisServer
  let store: RedisStore
  let port: Int32

  static let host = "127.0.0.1"

  /// Where a store finds the server.
  var url: String { server.url }

  init() async throws {
    server = try PrivateRedisServer(.tcp)
    port = Int32(server.url.split(separator: ":").last ?? "") ?? 0
    store = RedisStore(try RedisConfiguration(url: server.url))
    try await store.waitUntilConnected(within: .seconds(5))
  }

  func connect() throws -> BareRedis {
    try BareRedis(host: Self.host, port: port)
  }
}

/// Runs a blocking body on a thread of its own.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread { continuation.resume(with: .init(catching: body)) }.start()
  }
}
