import SharedStateRedis
import SharedStateRedisTesting
import Testing

typealias SentinelGroup = PrivateRedisSentinels

extension PrivateRedisSentinels {
  /// Starts a Sentinel that names the server which began as the primary, for ever: it hears of no other Sentinel, and so
  /// of no failover.
  func outdatedSentinel() throws -> PrivateRedisServer {
    try PrivateRedisServer(
      kind: .sentinel,
      security: nil,
      configuration: [
        "sentinel monitor \(Self.name) 127.0.0.1 \(servers[0].port) 2",
        "sentinel down-after-milliseconds \(Self.name) 1000",
        "sentinel auth-user \(Self.name) deaf",
        "sentinel auth-pass \(Self.name) secret",
      ]
    )
  }

  /// Has an outdated Sentinel name another server from now on.
  func update(_ outdated: PrivateRedisServer, to primary: PrivateRedisServer) throws {
    try outdated.command("SENTINEL", "REMOVE", Self.name)
    try outdated.command("SENTINEL", "MONITOR", Self.name, "127.0.0.1", "\(primary.port)", "2")
    try outdated.command("SENTINEL", "SET", Self.name, "auth-user", "deaf", "auth-pass", "secret")
  }

  func url(of sentinels: [PrivateRedisServer]) -> String {
    "redis+sentinel://\(sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ","))?primary=\(Self.name)"
  }

  func store(_ label: String, _ url: String? = nil) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: url ?? self.url)
    configuration.retryQuickly(label: label)
    return RedisStore(configuration).endingWithTest
  }

  /// Waits until the Sentinels have chosen another primary.
  func isReplaced(_ former: PrivateRedisServer) async throws {
    try await eventually("another primary") { [self] in
      guard let primary = try primary() else { return false }
      return primary.port != former.port
    }
  }
}

extension PrivateRedisServer {
  /// Whether a service is connected to it.
  func serves(_ label: String) throws -> Bool {
    try command("CLIENT", "LIST").text?.contains("name=\(label):writer") == true
  }
}
