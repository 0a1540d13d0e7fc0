import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A store behind a proxy", .timeLimit(.minutes(5)), .endsStores)
struct ProxyTests {
  /// Leads the two connections of a store to two servers.
  private struct Proxy: RedisConnector {
    let connectors: PerConnection<HiredisConnector>

    func open(
      _ purpose: ConnectionPurpose,
      pass: UInt64,
      waker: Waker,
      deadline: Instant
    ) throws(RedisSharedStateError) -> (any RedisConnection)? {
      try connectors[purpose].open(purpose, pass: pass, waker: waker, deadline: deadline)
    }

    func stopConnecting(_ waker: Waker) {
      for connector in connectors.values { connector.stopConnecting(waker) }
    }
  }

  private static func store(
    _ label: String,
    _ servers: PerConnection<PrivateRedisServer>,
    isProxied: Bool
  ) throws -> RedisStore {
    func configuration(_ server: PrivateRedisServer) throws -> RedisConfiguration {
      var configuration = try RedisConfiguration(url: server.url)
      configuration.retryQuickly(label: label)
      configuration.isProxied = isProxied
      return configuration
    }
    let (writer, subscriber) = (try configuration(servers[.writer]), try configuration(servers[.subscriber]))
    return RedisStore(
      connector: Proxy(
        connectors: PerConnection { HiredisConnector(configuration: $0 == .writer ? writer : subscriber) }
      ),
      configuration: writer,
      isInProcess: false,
      logger: quiet
    ).endingWithTest
  }

  /// Two services change, update and delete a value.
  private static func agree(_ servers: PerConnection<PrivateRedisServer>, isProxied: Bool) async throws {
    let stores = try ["one", "two"].map { try store($0, servers, isProxied: isProxied) }
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    for store in stores { try await store.waitUntilConnected(within: patience) }
    shares[0].withLock { $0 = 1 }
    try await shares[1].becomes(1)
    try await shares[1].updateAtomically { $0 += 1 }
    try await shares[0].becomes(2)
    try await shares[0].reset()
    try await shares[1].becomes(0)
  }

  @Test("A store with connections to different servers works if it is proxied, and reconnects otherwise")
  func divided() async throws {
    let primary = try PrivateRedisServer(configuration: ["repl-diskless-sync-delay 0"])
    let replica = try PrivateRedisServer(configuration: ["replicaof 127.0.0.1 \(primary.port)"])
    let servers = PerConnection { $0 == .writer ? primary : replica }
    try await Self.agree(servers, isProxied: true)

    let untold = try Self.store("untold", servers, isProxied: false)
    untold.connect()
    try await untold.isReconnecting(
      because: .disconnected(reason: "the two connections lead to different servers")
    )
  }

  @Test("A store works with a server without INFO, ROLE and CLIENT", arguments: [false, true])
  func hidden(isProxied: Bool) async throws {
    let server = try PrivateRedisServer(
      configuration: ["INFO", "ROLE", "CLIENT"].map { "rename-command \($0) \"\"" }
    )
    let servers = PerConnection { _ in server }
    try await Self.agree(servers, isProxied: isProxied)
  }
}
