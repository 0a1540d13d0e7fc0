import SharedStateRedis
import SharedStateTesting
import Testing

/// A primary, two replicas, and three Sentinels that watch them, for a test of failovers.
///
/// They end when this object is released or when the process ends. Starting them takes some seconds.
public final class PrivateRedisSentinels: Sendable {
  /// The first one begins as the primary.
  public let servers: [PrivateRedisServer]
  /// The Sentinels.
  public let sentinels: [PrivateRedisServer]
  private let login: String
  private let query: String
  private let scheme: String

  /// The name that the Sentinels have for the primary.
  package static let name = "main"
  /// A user with which a Sentinel neither hears other Sentinels nor is heard.
  private static let deaf = "user deaf on >secret ~* resetchannels +@all"

  /// Starts the servers and the Sentinels, and returns once these know each other, and the replicas are in step.
  ///
  /// - Parameters:
  ///   - password: Of the servers; `nil`: they have none.
  ///   - sentinelPassword: Of the Sentinels; `nil`: they have none.
  ///   - security: Makes all of them speak TLS.
  ///   - configuration: Further lines of the servers' redis.conf.
  /// - Throws: ``PrivateRedisServerError``, or an error that is also an issue of the test: they are not ready in time.
  public init(
    password: String? = nil,
    sentinelPassword: String? = nil,
    security: PrivateRedisServer.Security? = nil,
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
          "sentinel down-after-milliseconds \(Self.name) 2000",
          "sentinel failover-timeout \(Self.name) 5000",
        ] + (password.map { ["sentinel auth-pass \(Self.name) \($0)"] } ?? [])
          + (sentinelPassword.map { ["sentinel sentinel-pass \($0)"] } ?? [])
      )
    }
    scheme = security == nil ? "redis+sentinel" : "rediss+sentinel"
    login = password.map { ":\($0)@" } ?? ""
    query =
      (sentinelPassword.map { "&sentinel-password=\($0)" } ?? "") + (security.map { "&ca=\($0.authority)" } ?? "")
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

  /// The URL to connect to, with the passwords.
  public var url: String { url() }

  package func url(primary: String = name, query further: String = "") -> String {
    let hosts = sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    return "\(scheme)://\(login)\(hosts)?primary=\(primary)\(query)\(further)"
  }

  /// Replaces the primary by a replica, and waits until all Sentinels know that and the former primary is a replica.
  ///
  /// - Throws: ``PrivateRedisServerError``, or an error that is also an issue of the test: it takes too long.
  public func failOver() async throws {
    guard let former = try primary() else { throw WaitedInVain(for: "a primary") }
    try sentinels[0].command("SENTINEL", "FAILOVER", Self.name)
    try await eventually("all Sentinels name another primary, and the former one is a replica") { [self] in
      try sentinels.allSatisfy { try address(at: $0) != "\(former.port)" }
        // A server that becomes a replica closes the connections of its clients.
        && (try? former.command("INFO", "replication"))?.text?.contains("role:slave") == true
    }
  }

  /// The primary, as a Sentinel knows it; `nil`: no Sentinel runs, or it knows none of the servers.
  public func primary() throws -> PrivateRedisServer? {
    guard let running = sentinels.first(where: \.isRunning) else { return nil }
    let address = try address(at: running)
    return servers.first { "\($0.port)" == address }
  }

  /// The port of the primary, as a Sentinel knows it.
  package func address(at sentinel: PrivateRedisServer) throws -> String? {
    let reply = try sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self.name)
    guard case .array(let address) = reply else { return nil }
    return address.last?.text
  }
}

extension PrivateRedisServer {
  /// How many other Sentinels, or replicas, a Sentinel knows.
  fileprivate func count(_ what: String) throws -> Int? {
    guard case .array(let list) = try command("SENTINEL", what, PrivateRedisSentinels.name) else { return nil }
    return list.count
  }
}
