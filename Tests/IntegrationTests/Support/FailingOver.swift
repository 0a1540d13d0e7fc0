import Foundation
import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// A primary and a replica. A test can cut the networks between them and between the primary and the services.
struct FailingOver {
  let primary: PrivateRedisServer
  let replica: PrivateRedisServer
  /// The network between the services and the current primary.
  private let address: Forwarder
  private let replication: Forwarder

  init() async throws {
    primary = try PrivateRedisServer(configuration: ["repl-diskless-sync-delay 0"])
    address = try Forwarder(to: primary.port)
    replication = try Forwarder(to: primary.port)
    replica = try PrivateRedisServer(configuration: ["replicaof 127.0.0.1 \(replication.port)"])
    try await replicaCatchesUp()
  }

  func store(_ label: String, journal: Journal) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: "redis://127.0.0.1:\(address.port)")
    configuration.retryQuickly(label: label)
    return RedisStore(configuration, logger: journal.logger(label)).endingWithTest
  }

  /// Waits until the replica has all data of the primary.
  func replicaCatchesUp() async throws {
    let marker = UUID().uuidString
    try primary.command("SET", "marker", marker)
    try await eventually("the replica catches up") { [replica] in
      try replica.command("GET", "marker").text == marker
    }
  }

  /// Cuts the replica off from the primary.
  func cutReplication() {
    replication.goSilent()
  }

  /// Kills the primary and promotes the replica.
  func promoteReplica() throws {
    primary.kill()
    try replica.command("REPLICAOF", "NO", "ONE")
  }

  /// Connects the services to the new primary.
  func moveServices() {
    address.forward(to: replica.port)
    address.cut()
  }
}

extension PrivateRedisServer {
  /// Lets redis-cli fetch a backup.
  func backUp() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).rdb")
    defer { try? FileManager.default.removeItem(at: file) }
    try await CommandLineTool.run("redis-cli", ["-p", String(port), "--rdb", file.path])
  }
}
