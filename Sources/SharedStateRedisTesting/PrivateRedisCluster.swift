import Foundation
import SharedStateRedis
import SharedStateTesting
import Synchronization
import Testing

/// A cluster of three primaries with a replica each, for a test of failovers.
///
/// The nodes end when this object is released or when the process ends. Starting them takes some seconds.
public final class PrivateRedisCluster: Sendable {
  /// The namespace of a store in this cluster, which has one slot.
  public static let namespace = "{shop}:"

  /// The primaries, and then their replicas in the same order.
  public let nodes: [PrivateRedisServer]
  /// The slot of the namespace, as the cluster says.
  package let slot: Int
  private let scheme: String
  private let query: String

  private static let slots = 16_384

  /// Starts the nodes, and returns once the cluster is up, and the replicas are in step.
  ///
  /// - Parameters:
  ///   - configuration: Further lines of the redis.conf of each node.
  ///   - security: Makes all nodes speak TLS, also among themselves.
  /// - Throws: ``PrivateRedisServerError``, or an error that is also an issue of the test: they are not ready in time.
  public init(_ configuration: [String] = [], security: PrivateRedisServer.Security? = nil) async throws {
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

  /// The URL to connect to, with the namespace.
  public var url: String { url() }

  /// - Parameter nodes: The nodes that the store asks first.
  package func url(_ nodes: [PrivateRedisServer]? = nil, namespace: String = namespace) -> String {
    let hosts = (nodes ?? self.nodes).map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    let tag = namespace.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    return "\(scheme)://\(hosts)?namespace=\(tag)\(query)"
  }

  /// The node that owns the slot of the namespace, as some node says; `nil`: none does.
  public func owner() throws -> PrivateRedisServer? {
    guard let running = nodes.first(where: \.isRunning) else { return nil }
    return try owner(askedAt: running)
  }

  package func owner(askedAt node: PrivateRedisServer) throws -> PrivateRedisServer? {
    guard case .array(let ranges) = try node.command("CLUSTER", "SLOTS") else { throw WrongReply() }
    for case .array(let range) in ranges {
      guard case .integer(let first) = range[0], case .integer(let last) = range[1], first <= slot, slot <= last,
        case .array(let primary) = range[2], case .integer(let port) = primary[1]
      else { continue }
      return nodes.first { Int64($0.port) == Int64(port) }
    }
    return nil
  }

  /// Lets the replica of the slot's owner take over, and waits until all nodes know that.
  ///
  /// - Throws: ``PrivateRedisServerError``, or an error that is also an issue of the test: it takes too long.
  public func failOver() async throws {
    guard let former = try owner(), let index = nodes.firstIndex(where: { $0 === former }) else {
      throw WaitedInVain(for: "an owner of the slot")
    }
    let replica = nodes[(index + 3) % 6]
    try replica.cluster("FAILOVER")
    let askedAt = Mutex(ContinuousClock.now)
    try await eventually("another owner of the slot") { [self] in
      // On a busy machine, the servers may need more than the five seconds after which they give up.
      if ContinuousClock.now - askedAt.withLock(\.self) > .seconds(6), try owner(askedAt: replica) === former {
        askedAt.withLock { $0 = .now }
        try? replica.cluster("FAILOVER")
      }
      return try hasSuccessor(former)
    }
  }

  /// Waits until all other nodes say that another node owns the slot.
  package func isReplaced(_ former: PrivateRedisServer) async throws {
    try await eventually("another owner of the slot") { [self] in try hasSuccessor(former) }
  }

  private func hasSuccessor(_ former: PrivateRedisServer) throws -> Bool {
    try nodes.filter { $0 !== former && $0.isRunning }.allSatisfy { node in
      let owner = try owner(askedAt: node)
      return owner != nil && owner !== former
    }
  }

  private struct WrongReply: Error {}
}

extension PrivateRedisServer {
  /// The name that a node has in its cluster.
  package var identifier: String {
    get throws { try command("CLUSTER", "MYID").text ?? "" }
  }

  fileprivate func information(_ name: String) throws -> String? {
    let lines = try command("CLUSTER", "INFO").text?.split(whereSeparator: \.isNewline) ?? []
    return lines.first { $0.hasPrefix("\(name):") }.map { String($0.dropFirst(name.count + 1)) }
  }

  package func cluster(_ arguments: String...) throws { try cluster(arguments) }

  fileprivate func cluster(_ arguments: [String]) throws {
    let reply = try command((["CLUSTER"] + arguments).map { Data($0.utf8) })
    guard reply.text == "OK" else { throw RefusedCommand(description: "\(arguments.prefix(2)): \(reply)") }
  }

  private struct RefusedCommand: Error, CustomStringConvertible {
    let description: String
  }
}
