import Synchronization

/// Finds the node of a cluster that owns the slot of a namespace.
final class ClusterResolver: EndpointResolver {
  private let seeds: [RedisEndpoint]
  /// `nil`: the values of the namespace have many slots.
  private let slot: UInt16?
  private let dialer: any Dialer
  private let credentials: Credentials
  /// The nodes that the last answer named. The one to ask first moves to the end, so that the next attempt asks
  /// another.
  private let known = Mutex<[RedisEndpoint]>([])

  private static let maximumNodes = 1_000

  init(_ seeds: [RedisEndpoint], namespace: String, _ dialer: any Dialer, _ credentials: @escaping Credentials) {
    (self.seeds, self.dialer, self.credentials) = (seeds, dialer, credentials)
    slot = ClusterSlot(namespace: namespace)?.number
  }

  func resolve(until deadline: inout Instant) throws(RedisSharedStateError) -> RedisEndpoint {
    guard let slot else { throw ClusterSlot.missing }
    let login = try credentials()
    let nodes = nodesToAsk()
    var failure = RedisSharedStateError.unreachable(reason: "no node of the cluster is known")
    for (index, node) in nodes.enumerated() {
      do throws(RedisSharedStateError) {
        let (connection, end) = try deadline.share(of: nodes.count - index) { (end) throws(RedisSharedStateError) in
          try CommandConnection(to: node, dialer, as: login, until: &end)
        }
        return try owner(of: slot, askedAt: node, connection, until: end)
      } catch {
        // An error that a person has to fix says more than that a node is down.
        if !failure.isPermanent { failure = error }
      }
    }
    throw failure
  }

  private func nodesToAsk() -> [RedisEndpoint] {
    known.withLock { known in
      var nodes: [RedisEndpoint] = []
      for node in known + seeds where !nodes.contains(node) { nodes.append(node) }
      known = nodes.isEmpty ? [] : Array(nodes[1...]) + [nodes[0]]
      return nodes
    }
  }

  private func owner(
    of slot: UInt16,
    askedAt node: RedisEndpoint,
    _ connection: CommandConnection,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> RedisEndpoint {
    try connection.ask(["CLUSTER", "SLOTS"], bound: .slots, until: deadline) { (reply) throws(RedisSharedStateError) in
      guard reply.kind == .array else {
        guard reply.kind == .error else { throw HiredisConnection.unknownReply("CLUSTER SLOTS") }
        let error = RedisSharedStateError(errorReply: reply.string, operation: "CLUSTER SLOTS")
        guard case .serverError(code: "ERR") = error.cause else { throw error }
        throw .invalidURL(reason: "its server is not a cluster node; without '+cluster' it leads to a single server")
      }
      let ranges = (0..<reply.count).compactMap { SlotRange(reply[$0], askedAt: node) }
      note(ranges.compactMap(\.owner))
      guard let range = ranges.first(where: { $0.slots.contains(slot) }) else {
        throw .unreachable(reason: "no node of the cluster owns slot \(slot), that of the namespace; see CLUSTER INFO")
      }
      guard let owner = range.owner else {
        throw .unreachable(
          reason: "the owner of slot \(slot) announces no usable host; "
            + "set its cluster-announce-hostname, or cluster-preferred-endpoint-type to ip"
        )
      }
      return owner
    }
  }

  private func note(_ owners: [RedisEndpoint]) {
    known.withLock { known in
      var nodes: [RedisEndpoint] = []
      for owner in owners where !nodes.contains(owner) && nodes.count < Self.maximumNodes { nodes.append(owner) }
      guard let first = nodes.firstIndex(where: { $0 == known.first }) else { return known = nodes }
      // The node that was to be asked next stays the first.
      known = Array(nodes[first...] + nodes[..<first])
    }
  }
}

/// A range of slots, and the primary that owns it.
private struct SlotRange {
  let slots: ClosedRange<UInt16>
  /// `nil`: it does not announce where it is.
  let owner: RedisEndpoint?

  /// - Parameters:
  ///   - reply: First and last slot, then the primary, then its replicas, each with host and port.
  ///   - node: Where that was asked. No host, or an empty one, means the same one.
  init?(_ reply: RedisReplyView, askedAt node: RedisEndpoint) {
    guard reply.kind == .array, reply.count >= 3, case let primary = reply[2], primary.count >= 2,
      let first = UInt16(exactly: reply[0].integer), let last = UInt16(exactly: reply[1].integer), first <= last,
      let port = UInt16(exactly: primary[1].integer)
    else { return nil }
    var host = primary[0].kind == .string ? primary[0].string : ""
    if host.isEmpty, case .tcp(let asked, _) = node { host = asked }
    slots = first...last
    // A node that is to be named by its host name, and has none, is named by a question mark.
    owner = host == "?" ? nil : try? RedisEndpoint(host: host, port: port)
  }
}
