import Foundation
import Logging
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting
import Testing

@Suite("A store that finds its primary by Sentinels", .timeLimit(.minutes(5)), .endsStores)
struct SentinelTests {
  /// What happens to a primary.
  enum Loss: CaseIterable {
    case killed, paused, replaced
  }

  @Test(
    "A failover of the primary under load loses at most one acknowledged update per service",
    arguments: Loss.allCases
  )
  func failover(loss: Loss) async throws {
    let group = try await SentinelGroup()
    let load = UpdateLoad(try (1...2).map { try group.store("service\($0)") })
    let former = group.servers[0]
    try await load.survives {
      switch loss {
      case .killed: former.kill()
      case .paused: try former.pause()
      case .replaced: try group.sentinels[0].command("SENTINEL", "FAILOVER", SentinelGroup.name)
      }
      try await group.isReplaced(former)
      // A primary that resumes goes on as one until a Sentinel tells it otherwise.
      if loss == .paused { try former.resume() }
    }
    let primary = try #require(try group.primary())
    #expect(primary.port != former.port)
    let result = try await load.result()
    let expected = load.expectedAfterFailover
    #expect(expected.contains(result), "\(result) is not in \(expected)")
    // What only the former one had is restored.
    try await eventually("the newest value is stored") { try primary.command("GET", "count").text == "\(result)" }
  }

  @Test("A read-only store reads from a replica, and finds another server when the replica or the primary is lost")
  func reader() async throws {
    let group = try await SentinelGroup()
    let writer = Shared(wrappedValue: 0, .redis("count", store: try group.store("writer")))
    var configuration = try RedisConfiguration(url: group.url())
    configuration.retryQuickly(label: "reader")
    configuration.access = .readOnly
    let store = RedisStore(configuration).endingWithTest
    let share = SharedReader(wrappedValue: 0, .redis("count", store: store))
    try await store.waitUntilConnected(within: patience)
    let first = try #require(try group.servers.first { try $0.serves("reader") })
    #expect(first.port != group.servers[0].port)
    try await writer.updateAtomically { $0 += 1 }
    try await share.becomes(1)

    first.kill()
    try await eventually("the reader has another server") {
      try group.servers.contains { try $0.isRunning && $0.serves("reader") }
    }
    try await writer.updateAtomically { $0 += 1 }
    try await share.becomes(2)

    group.servers[0].kill()
    try await group.isReplaced(group.servers[0])
    try await writer.updateAtomically { $0 += 1 }
    try await share.becomes(3)
  }

  @Test("A store leaves a paused primary when a Sentinel announces another one")
  func leavesPaused() async throws {
    let group = try await SentinelGroup()
    var configuration = try RedisConfiguration(url: group.url())
    // A store that only waits would notice nothing for a minute.
    (configuration.requestTimeout, configuration.connectTimeout) = (.seconds(60), .seconds(60))
    configuration.label = "service"
    let store = RedisStore(configuration).endingWithTest
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    share.withLock { $0 = 1 }
    try await share.save()
    let former = group.servers[0]
    try former.pause()
    share.withLock { $0 = 2 }
    try await group.isReplaced(former)
    try await share.save()
    let primary = try #require(try group.primary())
    #expect(try primary.command("GET", "count").text == "2")
    try former.resume()
    try await eventually("the former primary notices that the store has left") {
      try former.command("CLIENT", "LIST").text?.contains("name=service:") == false
    }
  }

  @Test("A store needs one Sentinel of three, and finds a new primary when the first Sentinel is down")
  func sentinelsDown() async throws {
    let group = try await SentinelGroup()
    let store = try group.store("service")
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    share.withLock { $0 = 1 }
    try await share.save()
    // The one that the store asks first, and listens to.
    group.sentinels[0].kill()
    let former = group.servers[0]
    former.kill()
    try await eventually("both of the others know another primary") {
      try group.sentinels[1...].allSatisfy { sentinel in
        let address = try group.address(at: sentinel)
        return address != nil && address != "\(former.port)"
      }
    }
    share.withLock { $0 = 2 }
    try await share.save()
    group.sentinels[1].kill()
    let second = try group.store("second")
    let copy = Shared(wrappedValue: 0, .redis("count", store: second))
    try await copy.becomes(2)
  }

  @Test("A Sentinel that is out of date keeps no store from the primary", arguments: [true, false])
  func outdatedSentinel(isDead: Bool) async throws {
    let group = try await SentinelGroup()
    let former = group.servers[0]
    if isDead { former.kill() } else { try former.pause() }
    try await group.isReplaced(former)
    let outdated = try group.outdatedSentinel()
    let url = group.url().replacing("sentinel://", with: "sentinel://127.0.0.1:\(outdated.port),")
    var configuration = try RedisConfiguration(url: url)
    configuration.retryQuickly(label: "service")
    configuration.connectTimeout = .milliseconds(500)
    let store = RedisStore(configuration).endingWithTest
    try await store.waitUntilConnected(within: patience)
    let primary = try #require(try group.primary())
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    share.withLock { $0 = 1 }
    try await share.save()
    #expect(try primary.command("GET", "count").text == "1")
  }

  @Test("A new service finds the primary at once, wherever in its URL an outdated Sentinel is", arguments: 0...2)
  func outdatedForNew(position: Int) async throws {
    let group = try await SentinelGroup()
    let outdated = try group.outdatedSentinel()
    try await group.failOver()
    var sentinels = Array(group.sentinels[..<2])
    sentinels.insert(outdated, at: position)
    let (store, journal) = try service(group.url(of: sentinels))
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    share.withLock { $0 = 1 }
    try await share.save()
    let primary = try #require(try group.primary())
    #expect(try primary.command("GET", "count").text == "1")
    #expect(journal.entries("No connection to Redis") == [])
  }

  @Test("A new service finds the primary although most of the Sentinels in its URL are outdated")
  func outdatedMajority() async throws {
    let group = try await SentinelGroup()
    let outdated = [try group.outdatedSentinel(), try group.outdatedSentinel()]
    try await group.failOver()
    let (store, journal) = try service(group.url(of: outdated + group.sentinels[..<1]))
    try await store.waitUntilConnected(within: patience)
    // On a busy machine, the Sentinels may take a slow primary for one that is down, and choose another.
    try await eventually("the log and the report name the primary") {
      let address = "127.0.0.1:\(try group.primary()?.port ?? 0), "
      let server = journal.entries("Connected to Redis.").last?.server
      return server?.hasPrefix(address + "found through the primary 'main' of the Sentinels ") == true
        && store.report().server.hasPrefix(address)
    }
  }

  @Test("A live service whose Sentinel dies stays at its primary, although the next Sentinel is outdated")
  func outdatedForLive() async throws {
    let group = try await SentinelGroup()
    let outdated = try group.outdatedSentinel()
    try await group.failOver()
    let first = group.sentinels[0]
    let (store, journal) = try service(group.url(of: [first, outdated]))
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    share.withLock { $0 = 1 }
    try await share.save()
    try await eventually("the service listens to the first Sentinel") { try first.hasPingedListener }
    first.kill()
    // It has asked all Sentinels by then.
    try await eventually("the service listens to the other Sentinel") { try outdated.hasPingedListener }
    share.withLock { $0 = 2 }
    try await share.save()
    let primary = try #require(try group.servers.first { try $0.serves("service") })
    #expect(primary.port != group.servers[0].port)
    #expect(try primary.command("GET", "count").text == "2")
    #expect(journal.entries("No connection to Redis") == [])
  }

  private func service(_ url: String) throws -> (RedisStore, Journal) {
    let journal = Journal()
    var configuration = try RedisConfiguration(url: url)
    configuration.retryQuickly(label: "service")
    configuration.keepAliveInterval = .milliseconds(100)
    return (RedisStore(configuration, logger: journal.logger("service")).endingWithTest, journal)
  }

  @Test("A URL with a primary that the Sentinels do not know is invalid")
  func unknownName() async throws {
    let group = try await SentinelGroup()
    let store = try group.store("service", group.url(primary: "other"))
    await store.cannotConnect(.invalidURL, "no primary 'other'")
  }

  @Test("A URL is not invalid because the only Sentinel that is up does not know the primary")
  func newSentinel() async throws {
    let group = try await SentinelGroup()
    try group.sentinels[0].command("SENTINEL", "REMOVE", SentinelGroup.name)
    for sentinel in group.sentinels.dropFirst() { sentinel.kill() }
    let store = try group.store("service")
    try await store.status("the Sentinels that are down are the reason") { status in
      guard case .reconnecting(_, let error) = status else { return false }
      return error.code == .unreachable
    }
  }

  @Test("A URL is invalid if it names a server as a Sentinel or a Sentinel as a server")
  func wrongKind() async throws {
    let group = try await SentinelGroup()
    let wrong = [
      "redis+sentinel://127.0.0.1:\(group.servers[0].port)?primary=main": "is not one",
      "redis://127.0.0.1:\(group.sentinels[0].port)": "is a Sentinel",
    ]
    for (url, text) in wrong {
      let store = try group.store("service", url)
      await store.cannotConnect(.invalidURL, text)
    }
  }

  @Test("The servers and the Sentinels have separate passwords, and an error says which one is wrong")
  func passwords() async throws {
    let group = try await SentinelGroup(password: "server-secret", sentinelPassword: "sentinel-secret")
    let share = Shared(wrappedValue: 0, .redis("count", store: try group.store("service")))
    share.withLock { $0 = 1 }
    try await share.save()
    let urls = [
      (group.url().replacing("sentinel-secret", with: "wrong"), "Sentinel refuses"),
      (group.url().replacing("server-secret", with: "wrong"), "Redis refuses"),
    ]
    for (url, text) in urls {
      let store = try group.store("other", url)
      await store.cannotConnect(.authenticationFailed, text)
    }
  }

  @Test("A store needs no rights at the Sentinels beyond those in its rules")
  func rights() async throws {
    let group = try await SentinelGroup()
    let rules = try RedisAccess.sentinelRules(user: "listener").split(separator: " ").map { Data($0.utf8) }
    for sentinel in group.sentinels {
      let reply = try sentinel.command(rules + [Data(">secret".utf8)])
      #expect(reply.text == "OK", "\(reply)")
    }
    let url = group.url(query: "&sentinel-user=listener&sentinel-password=secret")
    let store = try group.store("service", url)
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    share.withLock { $0 = 1 }
    try await share.save()
    let former = group.servers[0]
    try group.sentinels[0].command("SENTINEL", "FAILOVER", SentinelGroup.name)
    try await group.isReplaced(former)
    share.withLock { $0 = 2 }
    try await share.save()
    let primary = try #require(try group.primary())
    try await eventually("the new primary has the value") { try primary.command("GET", "count").text == "2" }

    // A service that only reads needs to know the replicas, too.
    var configuration = try RedisConfiguration(url: url)
    configuration.access = .readOnly
    let unentitled = RedisStore(configuration, logger: quiet).endingWithTest
    await unentitled.cannotConnect(.permissionDenied, "a Sentinel lacks permission for the command SENTINEL REPLICAS")
    let further = try RedisAccess.sentinelRules(user: "listener", access: .readOnly).split(separator: " ")
    for sentinel in group.sentinels {
      #expect(try sentinel.command(further.map { Data($0.utf8) }).text == "OK")
    }
    let reader = RedisStore(configuration, logger: quiet).endingWithTest
    try await reader.waitUntilConnected(within: patience)
  }

  @Test("A Sentinel that refuses to announce a failover is logged once, and the store connects")
  func refusedAnnouncements() async throws {
    let group = try await SentinelGroup()
    let rules = try RedisAccess.sentinelRules(user: "asker").split(separator: " ").map { Data($0.utf8) }
    for sentinel in group.sentinels {
      #expect(try sentinel.command(rules + [Data(">secret".utf8), Data("-subscribe".utf8)]).text == "OK")
    }
    let journal = Journal()
    var configuration = try RedisConfiguration(url: group.url(query: "&sentinel-user=asker&sentinel-password=secret"))
    configuration.retryQuickly(label: "service")
    let store = RedisStore(configuration, logger: journal.logger("service")).endingWithTest
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    share.withLock { $0 = 1 }
    try await share.save()
    try await eventually("the store has tried to listen to each Sentinel") {
      try group.sentinels.allSatisfy { try !$0.command("ACL", "LOG").elements.isEmpty }
    }
    let told = journal.entries("A Sentinel refuses to announce")
    #expect(told.count == 1)
    #expect(told.first?.level == .warning)
    #expect(told.first?.error?.contains("SUBSCRIBE") == true)
    #expect(told.first?.sentinel?.contains("127.0.0.1") == true)
  }

  #if TLS
    @Test("A store uses TLS with the servers and the Sentinels")
    func security() async throws {
      let authority = try await CertificateAuthority()
      let group = try await SentinelGroup(security: try await authority.security())
      let store = try group.store("service")
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      share.withLock { $0 = 1 }
      try await share.save()
      let former = group.servers[0]
      try group.sentinels[0].command("SENTINEL", "FAILOVER", SentinelGroup.name)
      try await group.isReplaced(former)
      share.withLock { $0 = 2 }
      try await share.save()
      let primary = try #require(try group.primary())
      try await eventually("the new primary has the value") { try primary.command("GET", "count").text == "2" }
    }
  #endif
}

extension PrivateRedisServer {
  /// Whether a service listens to it, and has sent a PING since it began.
  fileprivate var hasPingedListener: Bool {
    get throws {
      let clients = try command("CLIENT", "LIST").text?.split(separator: "\n") ?? []
      return clients.contains { $0.contains(" sub=1 ") && $0.contains(" cmd=ping ") }
    }
  }
}
