import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// Operations time out after an hour in these tests, so that an error that is not reported at once comes too late.
@Suite("Errors that only a person can fix", .timeLimit(.minutes(5)), .endsStores)
struct FailFastTests {
  private typealias Operation = @Sendable () async throws -> Void

  private func store(
    _ url: String,
    logger: Logger = quiet,
    retriesQuickly: Bool = false
  ) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: url)
    if retriesQuickly { configuration.retryQuickly(label: "service") }
    configuration.operationTimeout = .seconds(3_600)
    return RedisStore(configuration, logger: logger).endingWithTest
  }

  /// Tries every operation that waits for the server, both before and after the end of the first attempt to connect.
  private func expect(_ expected: RedisSharedStateError, of store: RedisStore) async {
    @Shared(.redis("count", store: store)) var count = 1
    let share = $count
    share.withLock { $0 += 1 }
    for _ in 0..<2 {
      await #expect(throws: expected) { try await inTime("load()") { try await share.load() } }
      await #expect(throws: expected) { try await inTime("save()") { try await share.save() } }
      await #expect(throws: expected) { try await inTime("reset()") { try await share.reset() } }
      await #expect(throws: expected) {
        try await inTime("updateAtomically") { try await share.updateAtomically { $0 += 1 } }
      }
      await #expect(throws: expected) { try await inTime("metadata") { _ = try await store.metadata(for: "count") } }
      await #expect(throws: expected) { try await inTime("flush") { try await store.flush(within: .seconds(3_600)) } }
    }
    // It is set behind the errors of the callers. A wait that fails records an issue.
    try? await share.status("the load error") { $0.loadError as? RedisSharedStateError == expected }
  }

  @Test("A refused password fails every call immediately and is logged once as an error with server and service")
  func wrongPassword() async throws {
    let server = try PrivateRedisServer(password: "right")
    let journal = Journal()
    let url = server.url.replacingOccurrences(of: "right", with: "wrong")
    let store = try store(url, logger: journal.logger("service"), retriesQuickly: true)
    await expect(.authenticationFailed, of: store)
    try await eventually("the store has tried to connect again") { journal.entries("No connection to Redis").count > 2 }
    let told = journal.entries("No connection to Redis")
    #expect(told.map(\.message).allSatisfy { $0 == "No connection to Redis." })
    #expect(told.map(\.level).prefix(3) == [.error, .debug, .debug])
    #expect(told.first?.server == server.url.split(separator: "@").last.map(String.init))
    #expect(told.first?.label == "service")
    try server.command("CONFIG", "SET", "requirepass", "wrong")
    try await store.isUp()
    try await eventually("the connection is logged") { !journal.entries("Connected to Redis.").isEmpty }
    #expect(journal.entries("Connected to Redis.").map(\.server) == [told.first?.server])
  }

  @Test("A store with an unusable URL fails every call immediately with the URL's error")
  func malformedURL() async throws {
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: "http://host") }
    let journal = Journal()
    let refusing = RedisStore(refusing: try #require(error), logger: journal.logger("service")).endingWithTest
    await expect(try #require(error), of: refusing)
    try await eventually("the failure is logged") { !journal.entries("No connection to Redis.").isEmpty }
    let told = journal.entries("No connection to Redis.")
    #expect(told.first?.error == error?.description)
    // There is no server, and the fake in this process is none.
    #expect(told.map(\.server).allSatisfy { $0 == nil })
  }

  @Test(
    "A store keeps retrying and logs the server's own error when the server accepts no more clients",
    arguments: [nil, "p"]
  )
  func maximumClients(password: String?) async throws {
    let server = try PrivateRedisServer(password: password)
    try server.command("CONFIG", "SET", "maxclients", "1")
    let journal = Journal()
    let store = try store(server.url, logger: journal.logger("service"), retriesQuickly: true)
    @Shared(.redis("count", store: store)) var count = 1
    try await eventually("the store has tried to connect often") {
      journal.entries("No connection to Redis").count >= 20
    }
    let told = journal.entries("No connection to Redis")
    #expect(told.allSatisfy { $0.error?.contains("max number of clients reached") == true })
    // It passes by itself, so it is no refusal.
    #expect(told.map(\.message).allSatisfy { $0 == "No connection to Redis; trying again." })
  }

  @Test("A node or a Sentinel that has too many clients is not taken for one that refuses the password")
  func maximumClientsOfANode() throws {
    let server = try PrivateRedisServer(password: "secret")
    // The connection that takes the only place. It comes before the limit: the server may still count a
    // client that has just closed its connection, and would refuse this one.
    let first = try ConnectionDriver(server)
    try server.command("CONFIG", "SET", "maxclients", "1")
    guard case .fixed(let endpoint) = try RedisConfiguration(url: server.url).location else { return }
    let error = #expect(throws: RedisSharedStateError.self) {
      var deadline = Instant.now.advanced(by: patience)
      let credentials = try RedisConfiguration(url: server.url).currentCredentials()
      _ = try CommandConnection(to: endpoint, SocketDialer(), as: credentials, until: &deadline)
    }
    #expect(error?.code == .unreachable)
    #expect(error?.description.contains("max number of clients") == true)
    withExtendedLifetime(first) {}
  }

  @Test("A store does not log a connection to a server that is still loading its data")
  func loading() async throws {
    // Each key takes some milliseconds to load, and the server answers connections after each two mebibytes.
    let server = try PrivateRedisServer(configuration: ["key-load-delay 10000", "rdbcompression no"])
    for number in 0..<100 { try server.command("SET", "key\(number)", String(repeating: "x", count: 100_000)) }
    try server.command("SAVE")
    let journal = Journal()
    let store = try store(server.url, logger: journal.logger("service"), retriesQuickly: true)
    @Shared(.redis("count", store: store)) var count = 1
    try await $count.load()
    try await eventually("the store is connected") { journal.entries("Connected to Redis.").count == 1 }
    try server.restart()
    try await eventually("the store is connected again") { journal.entries("Connected to Redis.").count > 1 }
    try await $count.load()
    let told = journal.entries("No connection to Redis")
    #expect(told.contains { $0.error?.contains("LOADING") == true })
    #expect(journal.entries("Connected to Redis.").count == 2)
  }

  @Test("Every call to a port that expects TLS fails immediately with an error that says so")
  func tls() async throws {
    // The TLS alert of a server that received no TLS handshake.
    let server = try HostileServer { $0.say("\u{15}\u{3}\u{3}\0\u{2}\u{2}F") }
    let reason = "it speaks TLS; use rediss:// or a port without it"
    await expect(.protocolViolation(reason: reason), of: try store(server.url))
  }

  @Test("The error for a server that hangs up without a reply says that the server may expect TLS")
  func hangsUp() async throws {
    let server = try HostileServer { _ in }
    let store = try store(server.url)
    try await eventually("the first attempt has failed") {
      guard case .reconnecting(_, let error) = store.status, case .disconnected(let reason) = error.cause else {
        return false
      }
      return reason.hasSuffix("before any answer; a server that expects TLS does that")
    }
  }

  @Test(
    "Each call succeeds or reports a missing permission immediately when the server forbids a command",
    arguments: ["get", "mget", "evalsha", "eval", "script", "subscribe", "ping", "set", "publish", "client", "role"]
  )
  func forbidden(command: String) async throws {
    let server = try PrivateRedisServer(configuration: ["user default on nopass ~* &* +@all -\(command)"])
    let store = try store(server.url)
    @Shared(.redis("count", store: store)) var count = 1
    let share = $count
    share.withLock { $0 += 1 }
    let operations: [Operation] = [
      { try await share.load() },
      { try await share.save() },
      { try await share.updateAtomically { $0 += 1 } },
    ]
    for operation in operations {
      do {
        // The operation may succeed, because the library can do without some commands.
        try await inTime("the answer", wait: operation)
      } catch let error as RedisSharedStateError {
        guard error.code == .permissionDenied else { throw error }
      }
    }
  }

  @Test("Each call can have its own timeout while no server answers", arguments: BackendKind.allCases)
  func ownTimeout(kind: BackendKind) async throws {
    let backend = try kind.make()
    let way = Way()
    let store = try backend.store(way: way) { $0.operationTimeout = .seconds(3_600) }
    @Shared(.redis("count", store: store)) var count = 1
    try await $count.load(within: patience)
    try await backend.cutOff(store, "service", way)
    let share = $count
    share.withLock { $0 = 2 }
    let operations: [Operation] = [
      { try await share.load(within: .milliseconds(20)) },
      { try await share.save(within: .milliseconds(20)) },
      { try await share.updateAtomically(within: .milliseconds(20)) { $0 = 10 } },
    ]
    for operation in operations {
      await #expect(throws: RedisSharedStateError.self) { try await inTime("the end", wait: operation) }
    }
    way.open()
    try await share.save(within: patience)
    #expect(try backend.get("count") == "2")
    try await share.updateAtomically(within: patience) { $0 += 1 }
    try await share.reset(within: patience)
    #expect(count == 1)
  }
}
