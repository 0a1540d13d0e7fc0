import Foundation
import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// A primary, two replicas, and three Sentinels that watch them.
final class SentinelGroup: Sendable {
  /// The first one begins as the primary.
  let servers: [PrivateRedisServer]
  let sentinels: [PrivateRedisServer]
  private let login: String
  private let query: String
  private let scheme: String

  static let name = "main"
  /// A user with which a Sentinel neither hears other Sentinels nor is heard.
  private static let deaf = "user deaf on >secret ~* resetchannels +@all"

  /// - Parameters:
  ///   - password: Of the servers.
  ///   - sentinelPassword: Of the Sentinels.
  ///   - security: Makes all of them speak TLS.
  ///   - configuration: Further lines of the servers' redis.conf.
  init(
    password: String? = nil,
    sentinelPassword: String? = nil,
    security: PrivateRedisServer.Security? = nil,
    ca: String? = nil,
    configuration: [String] = []
  ) async throws {
    let tls = security == nil ? [] : ["tls-replication yes"]
    let primary = try PrivateRedisServer(
      security: security,
      password: password,
      configuration: configuration + tls + ["repl-diskless-sync-delay 0", Self.deaf]
        + (password.map { ["masterauth \($0)"] } ?? [])
    )
    let replicas = try (1...2).map { _ in
      try PrivateRedisServer(
        security: security,
        password: password,
        configuration: configuration + tls
          + ["replicaof 127.0.0.1 \(primary.port)", "repl-diskless-sync-delay 0", Self.deaf]
          + (password.map { ["masterauth \($0)"] } ?? [])
      )
    }
    servers = [primary] + replicas
    sentinels = try (1...3).map { _ in
      try PrivateRedisServer(
        kind: .sentinel,
        security: security,
        password: sentinelPassword,
        configuration: tls + [
          "sentinel monitor \(Self.name) 127.0.0.1 \(primary.port) 2",
          "sentinel down-after-milliseconds \(Self.name) 1000",
          "sentinel failover-timeout \(Self.name) 5000",
        ] + (password.map { ["sentinel auth-pass \(Self.name) \($0)"] } ?? [])
          + (sentinelPassword.map { ["sentinel sentinel-pass \($0)"] } ?? [])
      )
    }
    scheme = security == nil ? "redis+sentinel" : "rediss+sentinel"
    login = password.map { ":\($0)@" } ?? ""
    query = (sentinelPassword.map { "&sentinel-password=\($0)" } ?? "") + (ca.map { "&ca=\($0)" } ?? "")
    try await eventually("the Sentinels know each other and the replicas") { [sentinels] in
      try sentinels.allSatisfy { sentinel in
        try sentinel.count("SENTINELS") == 2 && sentinel.count("REPLICAS") == 2
          && sentinel.command("SENTINEL", "CKQUORUM", Self.name).text?.hasPrefix("OK") == true
      }
    }
    try await eventually("the replicas are in step") {
      try replicas.allSatisfy { try $0.command("INFO", "replication").text?.contains("master_link_status:up") == true }
    }
  }

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

  /// Replaces the primary by a replica, and waits until all know that.
  func failOver() async throws {
    try sentinels[0].command("SENTINEL", "FAILOVER", Self.name)
    let former = "\(servers[0].port)"
    try await eventually("all Sentinels name another primary, and the former one is a replica") { [self] in
      try sentinels.allSatisfy { try address(at: $0) != former }
        // A server that becomes a replica closes the connections of its clients.
        && (try? servers[0].command("INFO", "replication"))?.text?.contains("role:slave") == true
    }
  }

  func url(of sentinels: [PrivateRedisServer]) -> String {
    "redis+sentinel://\(sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ","))?primary=\(Self.name)"
  }

  func url(primary: String = name, query further: String = "") -> String {
    let hosts = sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    return "\(scheme)://\(login)\(hosts)?primary=\(primary)\(query)\(further)"
  }

  func store(_ label: String, _ url: String? = nil) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: url ?? self.url())
    configuration.retryQuickly(label: label)
    return RedisStore(configuration).endingWithTest
  }

  /// The primary, as a Sentinel knows it.
  func primary() throws -> PrivateRedisServer? {
    let running = try #require(sentinels.first { $0.isRunning })
    let address = try address(at: running)
    return servers.first { "\($0.port)" == address }
  }

  /// The port of the primary, as a Sentinel knows it.
  func address(at sentinel: PrivateRedisServer) throws -> String? {
    let reply = try sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self.name)
    guard case .array(let address) = reply else { return nil }
    return address.last?.text
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

  /// How many other Sentinels, or replicas, a Sentinel knows.
  fileprivate func count(_ what: String) throws -> Int? {
    guard case .array(let list) = try command("SENTINEL", what, SentinelGroup.name) else { return nil }
    return list.count
  }
}
