import Foundation
import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// Three primaries with a replica each, which are one cluster.
final class ClusterGroup: Sendable {
  let nodes: [PrivateRedisServer]
  /// The slot of the namespace, as the cluster says.
  private let slot: Int
  private let scheme: String
  private let query: String

  static let namespace = "{shop}:"
  private static let slots = 16_384

  /// - Parameter security: Makes all nodes speak TLS, also among themselves.
  init(_ configuration: [String] = [], security: PrivateRedisServer.Security? = nil) async throws {
    let tls = security == nil ? [] : ["tls-cluster yes", "tls-replication yes"]
    let lines = ["cluster-node-timeout 1000", "repl-diskless-sync-delay 0"] + tls + configuration
    nodes = try (0..<6).map { _ in try PrivateRedisServer(kind: .node, security: security, configuration: lines) }
    scheme = security == nil ? "redis+cluster" : "rediss+cluster"
    query = security.map { "&ca=\($0.authority)" } ?? ""
    guard case .integer(let slot) = try nodes[0].command("CLUSTER", "KEYSLOT", Self.namespace + "count") else {
      throw WrongReply()
    }
    self.slot = Int(slot)
    for (index, node) in nodes.enumerated() {
      try node.cluster("SET-CONFIG-EPOCH", "\(index + 1)")
      if index < 3 {
        let slots = (Self.slots * index / 3)..<(Self.slots * (index + 1) / 3)
        try node.cluster(["ADDSLOTS"] + slots.map(String.init))
      }
    }
    for node in nodes[1...] { try nodes[0].cluster("MEET", "127.0.0.1", "\(node.port)") }
    let nodes = nodes
    let identifiers = try nodes.map { try $0.identifier }
    // A node that has only begun to greet another one counts it already, under another name.
    try await eventually("all nodes know each other") {
      try nodes.allSatisfy { node in
        let known = try node.command("CLUSTER", "NODES").text ?? ""
        return identifiers.allSatisfy(known.contains)
      }
    }
    for (primary, replica) in zip(nodes[..<3], nodes[3...]) { try replica.cluster("REPLICATE", try primary.identifier) }
    try await eventually("the cluster is up, and the replicas are in step") {
      try nodes.allSatisfy { try $0.information("cluster_state") == "ok" }
        && nodes[3...].allSatisfy { try $0.command("INFO", "replication").text?.contains("link_status:up") == true }
        && nodes.allSatisfy { try $0.command("CLUSTER", "NODES").text?.contains("slave") == true }
    }
  }

  /// - Parameter nodes: The nodes that the store asks first.
  func url(_ nodes: [PrivateRedisServer]? = nil, namespace: String = namespace) -> String {
    let hosts = (nodes ?? self.nodes).map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    let tag = namespace.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    return "\(scheme)://\(hosts)?namespace=\(tag)\(query)"
  }

  func store(_ label: String, _ url: String? = nil) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: url ?? self.url())
    configuration.retryQuickly(label: label)
    return RedisStore(configuration).endingWithTest
  }

  /// The node that owns the slot, as some node says; `nil`: none does.
  func owner(askedAt node: PrivateRedisServer? = nil) throws -> PrivateRedisServer? {
    guard case .array(let ranges) = try (node ?? running).command("CLUSTER", "SLOTS") else { throw WrongReply() }
    for case .array(let range) in ranges {
      guard case .integer(let first) = range[0], case .integer(let last) = range[1], first <= slot, slot <= last,
        case .array(let primary) = range[2], case .integer(let port) = primary[1]
      else { continue }
      return nodes.first { Int64($0.port) == Int64(port) }
    }
    return nil
  }

  /// The replica of a primary.
  func replica(of primary: PrivateRedisServer) throws -> PrivateRedisServer {
    let index = try #require(nodes.firstIndex { $0 === primary })
    return nodes[(index + 3) % 6]
  }

  /// Waits until all other nodes say that another node owns the slot.
  func isReplaced(_ former: PrivateRedisServer) async throws {
    try await eventually("another owner of the slot") { [self] in
      try nodes.filter { $0 !== former && $0.isRunning }.allSatisfy { node in
        let owner = try owner(askedAt: node)
        return owner != nil && owner !== former
      }
    }
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

  private var running: PrivateRedisServer {
    get throws { try #require(nodes.first { $0.isRunning }) }
  }

  struct WrongReply: Error {}
}

extension PrivateRedisServer {
  /// The name that a node has in its cluster.
  fileprivate var identifier: String {
    get throws { try #require(try command("CLUSTER", "MYID").text) }
  }

  fileprivate func information(_ name: String) throws -> String? {
    let lines = try command("CLUSTER", "INFO").text?.split(whereSeparator: \.isNewline) ?? []
    return lines.first { $0.hasPrefix("\(name):") }.map { String($0.dropFirst(name.count + 1)) }
  }

  func cluster(_ arguments: String...) throws { try cluster(arguments) }

  fileprivate func cluster(_ arguments: [String]) throws { try expectOK(["CLUSTER"] + arguments) }

  fileprivate func expectOK(_ arguments: [String]) throws {
    let reply = try command(arguments.map { Data($0.utf8) })
    try #require(reply.text == "OK", "\(arguments.prefix(3)): \(reply)")
  }
}
