import Foundation
import SharedStateRedis
import SharedStateTesting
import Testing

/// A primary and a replica, and networks between them and the services that can be cut.
struct FailingOver {
  let primary: PrivateRedisServer
  let replica: PrivateRedisServer
  /// The way of the services to whoever is the primary.
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
    configuration.hurry(label: label)
    return RedisStore(configuration, logger: journal.logger(label)).endingWithTest
  }

  /// Waits until the replica has everything that the primary has.
  func replicaCatchesUp() async throws {
    let marker = UUID().uuidString
    try primary.command("SET", "marker", marker)
    try await eventually("the replica catches up") { [replica] in
      try replica.command("GET", "marker").text == marker
    }
  }

  /// From now on the replica hears nothing.
  func cutReplication() {
    replication.goSilent()
  }

  /// The primary dies, and the replica takes its place.
  func promoteReplica() throws {
    primary.kill()
    try replica.command("REPLICAOF", "NO", "ONE")
  }

  /// The services find the new primary.
  func moveServices() {
    address.forward(to: replica.port)
    address.cut()
  }
}

extension PrivateRedisServer {
  var port: UInt16 { UInt16(url.split(separator: ":").last ?? "") ?? 0 }
}
