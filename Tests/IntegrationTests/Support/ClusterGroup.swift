import Foundation
import SharedStateRedis
import SharedStateRedisTesting
import Testing

typealias ClusterGroup = PrivateRedisCluster

extension PrivateRedisCluster {
  func store(_ label: String, _ url: String? = nil) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: url ?? self.url)
    configuration.retryQuickly(label: label)
    return RedisStore(configuration).endingWithTest
  }

  /// The replica of a primary.
  func replica(of primary: PrivateRedisServer) throws -> PrivateRedisServer {
    let index = try #require(nodes.firstIndex { $0 === primary })
    return nodes[(index + 3) % 6]
  }

  /// Moves the slot, with its keys, to another primary, as `redis-cli --cluster reshard` does.
  func moveSlot(from source: PrivateRedisServer, to target: PrivateRedisServer) async throws {
    try beginMovingSlot(from: source, to: target)
    try await endMovingSlot(from: source, to: target)
  }

  /// Marks the slot as being moved, and moves no key.
  func beginMovingSlot(from source: PrivateRedisServer, to target: PrivateRedisServer) throws {
    try target.cluster("SETSLOT", "\(slot)", "IMPORTING", try source.identifier)
    try source.cluster("SETSLOT", "\(slot)", "MIGRATING", try target.identifier)
  }

  /// Leaves the slot where it is.
  func cancelMovingSlot(from source: PrivateRedisServer, to target: PrivateRedisServer) throws {
    for node in [source, target] { try node.cluster("SETSLOT", "\(slot)", "STABLE") }
  }

  /// Takes the slot from its owner, as every node sees it.
  func disownSlot() throws {
    for node in nodes { try? node.cluster("DELSLOTS", "\(slot)") }
  }

  /// The connections of a service at a node, as the node numbers them.
  func connections(of label: String, at node: PrivateRedisServer) throws -> Set<Substring> {
    let clients = try node.command("CLIENT", "LIST").text ?? ""
    return Set(
      clients.split(whereSeparator: \.isNewline).filter { $0.contains(" name=\(label):") }.compactMap {
        $0.split(separator: " ").first
      }
    )
  }

  /// Moves the keys of a slot that is marked, and then the slot.
  func endMovingSlot(from source: PrivateRedisServer, to target: PrivateRedisServer) async throws {
    let (slot, to) = ("\(slot)", try target.identifier)
    // Services that go on may make further keys meanwhile, and a busy machine may let a move time out.
    try await eventually("all keys have moved") {
      guard case .array(let keys) = try source.command("CLUSTER", "GETKEYSINSLOT", slot, "2"), !keys.isEmpty else {
        return true
      }
      let names = keys.compactMap(\.text)
      let move = ["MIGRATE", "127.0.0.1", "\(target.port)", "", "0", "5000", "KEYS"] + names
      _ = try source.command(move.map { Data($0.utf8) })
      return false
    }
    try target.cluster("SETSLOT", slot, "NODE", to)
    try source.cluster("SETSLOT", slot, "NODE", to)
    for node in nodes[..<3] where node !== source && node !== target { try node.cluster("SETSLOT", slot, "NODE", to) }
  }
}
