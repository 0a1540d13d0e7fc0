import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting
import Testing

@Suite("A store in a cluster", .timeLimit(.minutes(5)), .endsStores)
struct ClusterTests {
  /// What happens to the node that owns the slot.
  enum Loss: CaseIterable {
    case killed, paused, replaced
  }

  @Test("Stores in a cluster share small and large values, external edits and resets")
  func works() async throws {
    let group = try await ClusterGroup()
    let stores = try (1...2).map { try group.store("service\($0)") }
    let small = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    let large = stores.map { Shared(wrappedValue: "", .redis("text", store: $0)) }
    small[0].withLock { $0 = 1 }
    try await small[1].becomes(1)
    let text = String(repeating: "x", count: 100_000)
    large[1].withLock { $0 = text }
    try await large[0].becomes(text)
    let owner = try #require(try group.owner())
    try owner.command("SET", ClusterGroup.namespace + "count", "5")
    for share in small { try await share.becomes(5) }
    try await small[0].reset()
    try await small[1].becomes(0)
    try owner.command("SET", ClusterGroup.namespace + "text", "\"edited\"")
    for share in large { try await share.becomes("edited") }
  }

  @Test("A store needs no rights in a cluster beyond those in its rules")
  func rights() async throws {
    let group = try await ClusterGroup()
    let rules = ServerVersion.rights(
      try RedisAccess.rules(user: "alice", namespace: ClusterGroup.namespace, isCluster: true)
    )
    for node in group.nodes {
      let reply = try node.command((rules.split(separator: " ") + [">secret"]).map { Data($0.utf8) })
      #expect(reply.text == "OK", "\(reply)")
    }
    let url = group.url().replacing("redis+cluster://", with: "redis+cluster://alice:secret@")
    let stores = try (1...2).map { try group.store("service\($0)", url) }
    let counts = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    counts[0].withLock { $0 = 1 }
    try await counts[1].becomes(1)
    let former = try #require(try group.owner())
    try group.replica(of: former).cluster("FAILOVER")
    try await group.isReplaced(former)
    try await counts[1].updateAtomically { $0 += 1 }
    try await counts[0].becomes(2)
  }

  @Test(
    "A failover of the slot's owner under load loses at most one acknowledged update per service",
    arguments: Loss.allCases
  )
  func failover(loss: Loss) async throws {
    let group = try await ClusterGroup()
    let load = UpdateLoad(try (1...2).map { try group.store("service\($0)") })
    let former = try #require(try group.owner())
    try await load.survives {
      switch loss {
      case .killed: former.kill()
      case .paused: try former.pause()
      case .replaced: try group.replica(of: former).cluster("FAILOVER")
      }
      try await group.isReplaced(former)
      if loss == .paused { try former.resume() }
    }
    let result = try await load.result()
    let expected = load.expectedAfterFailover
    #expect(expected.contains(result), "\(result) is not in \(expected)")
    let owner = try #require(try group.owner(askedAt: try group.replica(of: former)))
    #expect(owner !== former)
    // What only the former one had is restored.
    try await eventually("the newest value is stored") {
      try owner.command("GET", ClusterGroup.namespace + "count").text == "\(result)"
    }
  }

  @Test("A store under load follows its slot to another node")
  func resharding() async throws {
    let group = try await ClusterGroup()
    let stores = try (1...2).map { try group.store("service\($0)") }
    let others = (0..<20).map { number in stores.map { Shared(wrappedValue: 0, .redis("other\(number)", store: $0)) } }
    for shares in others {
      shares[0].withLock { $0 = 1 }
      try await shares[1].becomes(1)
    }
    let load = UpdateLoad(stores)
    let source = try #require(try group.owner())
    let target = try #require(group.nodes[..<3].first { $0 !== source })
    try await load.survives {
      try await group.moveSlot(from: source, to: target)
      try await group.isReplaced(source)
    }
    let result = try await load.result()
    #expect(load.expected.contains(result))
    #expect(try target.command("GET", ClusterGroup.namespace + "count").text == "\(result)")
    for shares in others {
      shares[1].withLock { $0 = 2 }
      try await shares[0].becomes(2)
    }
  }

  /// How a move of a slot ends that was begun.
  enum Outcome: CaseIterable {
    case completed, cancelled
  }

  @Test(
    "While a slot is being moved, only values that the node cannot serve wait, and the connections stay",
    arguments: Outcome.allCases
  )
  func halfMoved(outcome: Outcome) async throws {
    let group = try await ClusterGroup()
    let stores = try (1...2).map { try group.store("service\($0)") }
    let counts = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    let others = stores.map { Shared(wrappedValue: 0, .redis("other", store: $0)) }
    for shares in [counts, others] {
      shares[0].withLock { $0 = 1 }
      try await shares[1].becomes(1)
    }
    let source = try #require(try group.owner())
    let target = try #require(group.nodes[..<3].first { $0 !== source })
    let connections = try group.connections(of: "service1", at: source)
    #expect(connections.count == 2)
    // Its record of operations has expired, so a commit names a key that the source does not have.
    try source.command("DEL", "\(ClusterGroup.namespace)ops:{\(ClusterGroup.namespace)other}")
    try group.beginMovingSlot(from: source, to: target)
    // Nothing is stored under this name.
    let absent = Shared(wrappedValue: 0, .redis("absent", store: stores[0]))
    try await eventually("the read is refused") {
      absent.loadError as? RedisSharedStateError == .serverError(code: "ASK")
    }
    absent.withLock { $0 = 7 }
    others[0].withLock { $0 = 2 }
    try await eventually("the commit is refused") {
      others[0].saveError as? RedisSharedStateError == .serverError(code: ServerVersion.major < 7 ? "ASK" : "TRYAGAIN")
    }
    try await counts[0].updateAtomically { $0 += 1 }
    try await counts[1].becomes(2)
    for store in stores { #expect(store.health == .live) }
    let waiting = [absent, others[0]].map { share in Task { try await share.save(within: patience) } }
    #expect(try group.connections(of: "service1", at: source) == connections)
    switch outcome {
    case .completed: try await group.endMovingSlot(from: source, to: target)
    case .cancelled: try group.cancelMovingSlot(from: source, to: target)
    }
    for save in waiting { try await inTime("a save") { try await save.value } }
    try await others[1].becomes(2)
    let owner = outcome == .completed ? target : source
    #expect(try owner.command("GET", ClusterGroup.namespace + "absent").text == "7")
    for share in [absent, others[0]] {
      #expect(share.saveError == nil)
      #expect(share.loadError == nil)
    }
    if outcome == .cancelled { #expect(try group.connections(of: "service1", at: source) == connections) }
  }

  @Test("A store whose slot has no owner, or an owner without an address, says so")
  func unknownOwner() async throws {
    let group = try await ClusterGroup()
    func isUnreachable(_ label: String, because text: String) async throws {
      let store = try group.store(label)
      // It is used, so it connects.
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      try await eventually("the error says why") {
        guard case .neverConnected(let reason?) = store.health else { return false }
        return reason.code == .unreachable && reason.description.contains(text)
      }
      withExtendedLifetime(share) {}
    }
    if ServerVersion.major >= 7 {
      let option = "cluster-preferred-endpoint-type"
      for node in group.nodes { try node.command("CONFIG", "SET", option, "hostname") }
      try await isUnreachable("nameless", because: "cluster-announce-hostname")
      // Without a host, the owner is where it was asked.
      for node in group.nodes { try node.command("CONFIG", "SET", option, "unknown-endpoint") }
      try await group.store("same").waitUntilConnected(within: patience)
    }
    try group.disownSlot()
    try await isUnreachable("disowned", because: "no node of the cluster owns slot")
  }

  @Test("A store finds the owner of its slot although the first nodes in its list are down")
  func nodesDown() async throws {
    let group = try await ClusterGroup()
    let owner = try #require(try group.owner())
    let gone = try PrivateRedisServer(kind: .node, security: nil)
    gone.kill()
    let store = try group.store("service", group.url([gone, gone, try group.replica(of: owner)]))
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    share.withLock { $0 = 1 }
    try await share.save()
    #expect(try owner.command("GET", ClusterGroup.namespace + "count").text == "1")
  }

  #if TLS
    @Test("A store verifies the announced names of nodes under TLS and follows a failover")
    func announcedNamesUnderTLS() async throws {
      let authority = try await CertificateAuthority()
      let security = PrivateRedisServer.Security(
        authority: authority.certificate,
        identity: try await authority.issue(for: "DNS:localhost,IP:127.0.0.1")
      )
      let names = ["cluster-announce-hostname localhost", "cluster-preferred-endpoint-type hostname"]
      let group = try await ClusterGroup(names, security: security)
      let stores = try (1...2).map { try group.store("service\($0)") }
      let counts = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
      for store in stores { try await store.waitUntilConnected(within: patience) }
      try await counts[0].updateAtomically { $0 += 1 }
      try await counts[1].becomes(1)
      let former = try #require(try group.owner())
      try group.replica(of: former).cluster("FAILOVER")
      try await group.isReplaced(former)
      try await counts[1].updateAtomically { $0 += 1 }
      try await counts[0].becomes(2)

      // The URL has addresses, for which this certificate is good. The announced name is another one.
      let ofAddress = try await authority.issue("address.pem", for: "IP:127.0.0.1")
      for node in group.nodes { try node.show(ofAddress) }
      let store = try group.store("refused")
      await store.cannotConnect(.tlsFailed, "'localhost'")
    }
  #endif

  @Test("A store rejects a single server as a cluster, a node as a single server, and a missing hash tag")
  func wrongKind() async throws {
    let group = try await ClusterGroup()
    let server = try PrivateRedisServer()
    let wrong: [(String, RedisSharedStateError.Code, String)] = [
      ("redis+cluster://127.0.0.1:\(server.port)?namespace=%7Ba%7D", .invalidURL, "not a cluster node"),
      ("redis://127.0.0.1:\(group.nodes[0].port)", .invalidURL, "redis+cluster"),
      (group.url(namespace: "shop:"), .invalidName, "'{shop}:'"),
    ]
    for (url, code, text) in wrong {
      let store = try group.store("service", url)
      await store.cannotConnect(code, text)
    }
  }
}
