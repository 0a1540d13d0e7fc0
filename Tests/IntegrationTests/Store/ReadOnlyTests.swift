import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A store that only reads", .timeLimit(.minutes(5)), .endsStores)
struct ReadOnlyTests {
  private func reader(
    on backend: any Backend,
    namespace: String = "",
    configure: (inout RedisConfiguration) -> Void = { _ in }
  ) throws -> RedisStore {
    try backend.store("reader") {
      $0.access = .readOnly
      $0.namespace = namespace
      configure(&$0)
    }
  }

  @Test("Converges: it shows every change, and discards its own", arguments: BackendKind.allCases, ["", "shop:"])
  func changes(kind: BackendKind, namespace: String) async throws {
    let backend = try kind.make()
    let writer = Shared(
      wrappedValue: 0,
      .redis("count", store: try backend.store("writer") { $0.namespace = namespace })
    )
    let store = try reader(on: backend, namespace: namespace)
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    writer.withLock { $0 = 1 }
    try await writer.save()
    try await share.becomes(1)

    share.withLock { $0 = 2 }
    try await share.status { ($0.saveError as? RedisSharedStateError)?.code == .readOnly }
    try await share.becomes(1)
    await #expect(throws: RedisSharedStateError.readOnly(name: "count")) { try await share.save() }
    await #expect(throws: RedisSharedStateError.readOnly(name: "count")) { try await share.reset() }
    await #expect(throws: RedisSharedStateError.readOnly(name: "count")) {
      try await share.updateAtomically { $0 += 1 }
    }
    try await share.load()
    #expect(share.wrappedValue == 1)

    writer.withLock { $0 = 3 }
    try await share.becomes(3)
    try await writer.reset()
    try await share.becomes(0)
    #expect(try backend.get("\(namespace)count") == nil)
  }

  @Test("A flush reports the values whose changes were discarded", arguments: BackendKind.allCases)
  func flush(kind: BackendKind) async throws {
    let store = try reader(on: try kind.make())
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    share.withLock { $0 = 2 }
    await #expect(throws: RedisSharedStateError.changesGivenUp(names: ["count"], further: 0)) {
      try await store.flush(within: patience)
    }
  }

  @Test(
    "A read-only store discards a change immediately while the server is unreachable",
    arguments: BackendKind.allCases
  )
  func discardsOffline(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("count", "1")
    let store = try reader(on: backend)
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    try await share.becomes(1)
    try backend.goDown()
    try await store.isDown()
    share.withLock { $0 = 2 }
    try await share.status { ($0.saveError as? RedisSharedStateError)?.code == .readOnly }
    try await share.becomes(1)
    await #expect(throws: RedisSharedStateError.readOnly(name: "count")) { try await share.save() }
    try backend.comeBack()
    try await store.isUp()
    #expect(try backend.get("count") == "1")
  }

  @Test("ForeignEditsSeen: an edit is shown, and gets no revision", arguments: BackendKind.allCases, ["", "shop:"])
  func edit(kind: BackendKind, namespace: String) async throws {
    let backend = try kind.make()
    let share = Shared(wrappedValue: 0, .redis("count", store: try reader(on: backend, namespace: namespace)))
    try await share.load()
    for edit in [7, 8] {
      try backend.set("\(namespace)count", "\(edit)")
      try await share.becomes(edit)
    }
    #expect(try backend.get("\(namespace)meta:{count}") == nil)
  }

  @Test(
    "An edit or a deletion that nobody adopts is reported, with its time, and logged once",
    arguments: BackendKind.allCases
  )
  func unversioned(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let writerStore = try backend.store("writer")
    let writer = Shared(wrappedValue: 0, .redis("count", store: writerStore))
    let store = try backend.store("reader", logger: journal.logger("reader")) { $0.access = .readOnly }
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    writer.withLock { $0 = 1 }
    try await writer.save()
    try await share.becomes(1)
    await writerStore.shutdown(within: patience)
    let before = Date() - 60
    // Shortly after a change, only its author looks for an edit, and the author is gone.
    try backend.set("count", "7")
    try await share.load()
    try await share.becomes(7)
    var value = try #require(store.report().values.first)
    #expect(value.progress == .externalEdit)
    #expect(try #require(value.editedSince) > before)
    let metadata = try #require(try await store.metadata(for: "count"))
    #expect(metadata.isForeign && metadata.writtenBy == nil)
    try await eventually("the edit is logged") { !journal.entries("was edited by a program", name: "count").isEmpty }
    try backend.delete("count")
    try await share.load()
    try await share.becomes(0)
    try await share.load()
    value = try #require(store.report().values.first)
    #expect(value.progress == .deleted && value.editedSince != nil)
    try await eventually("the deletion is logged") {
      !journal.entries("was deleted by a program", name: "count").isEmpty
    }
    #expect(journal.entries("by a program", name: "count").map(\.level) == [.info, .info])
  }

  @Test("A reader in an empty namespace proves every change but the first", arguments: BackendKind.allCases)
  func emptyNamespace(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store("reader", logger: journal.logger("reader")) {
      $0.access = .readOnly
      $0.namespace = "shop:"
    }
    let share = SharedReader(wrappedValue: 0, .redis("count", store: store))
    try await share.load()
    try await store.waitUntilConnected(within: patience)
    let writerStore = try backend.store("writer") { $0.namespace = "shop:" }
    let writer = Shared(wrappedValue: 0, .redis("count", store: writerStore))
    for round in 1...50 {
      writer.withLock { $0 = round }
      try await writer.save()
      try await share.becomes(round)
    }
    #expect(journal.entries(Journal.unproven).map(\.level) == [.warning])
  }

  @Test("AcknowledgedSurvives: a value that the server has lost stays, until a service that writes restores it")
  func loss() async throws {
    let backend = try ServerBackend(isPersistent: false)
    let writerWay = Way()
    let writerStore = try backend.store("writer", way: writerWay)
    let writer = Shared(wrappedValue: 0, .redis("count", store: writerStore))
    let store = try reader(on: backend)
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    writer.withLock { $0 = 1 }
    try await writer.save()
    try await share.becomes(1)
    try await backend.cutOff(writerStore, "writer", writerWay)
    backend.goDown()
    try await store.isDown()
    try backend.comeBack()
    try await store.isUp()
    try await share.load()
    #expect(share.wrappedValue == 1)
    #expect(try backend.get("count") == nil)
    writerWay.open()
    try await eventually("the value is restored") { try backend.get("count") == "1" }
  }

  /// Commands that write, publish, or run code.
  private static let writing = [
    "eval", "evalsha", "script", "set", "msetnx", "publish", "spublish", "unlink", "del", "rename",
  ]

  @Test(
    "A read-only store runs only commands that its rules permit, and none that writes",
    arguments: ["", "shop:", "{tag}:"]
  )
  func rights(namespace: String) async throws {
    let rules = ServerVersion.rights(
      try RedisAccess.rules(user: "display", namespace: namespace, access: .readOnly)
    )
    let backend = try ServerBackend()
    let reply = try backend.server.command(
      ((rules.split(separator: " ").map(String.init)) + [">secret"]).map { Data($0.utf8) }
    )
    try #require(reply.text == "OK")
    try backend.server.command("CONFIG", "RESETSTAT")
    let store = try reader(on: backend, namespace: namespace) {
      $0.credentialsProvider = { RedisCredentials(user: "display", password: "secret") }
    }
    let (small, large) = (
      Shared(wrappedValue: 0, .redis("count", store: store)), Shared(wrappedValue: "", .redis("text", store: store))
    )
    try await small.load()
    try await large.load()
    try backend.server.command("CONFIG", "RESETSTAT")
    small.withLock { $0 = 1 }
    try await small.status { ($0.saveError as? RedisSharedStateError)?.code == .readOnly }
    let stats = try backend.server.command("INFO", "commandstats").text ?? ""
    for command in Self.writing { #expect(!stats.contains("cmdstat_\(command)"), "\(command)") }

    let writer = try backend.store("writer") { $0.namespace = namespace }
    let (count, text) = (
      Shared(wrappedValue: 0, .redis("count", store: writer)), Shared(wrappedValue: "", .redis("text", store: writer))
    )
    let long = String(repeating: "x", count: 100_000)
    count.withLock { $0 = 5 }
    text.withLock { $0 = long }
    try await writer.flush(within: patience)
    try await small.becomes(5)
    try await large.becomes(long)
    #expect(store.status == .connected)
    let log = try backend.server.command("ACL", "LOG")
    #expect(log == .array([]), "\(log)")
  }
}

@Suite("A store that only reads, on a replica", .timeLimit(.minutes(5)), .endsStores)
struct ReplicaReaderTests {
  private let primary: PrivateRedisServer
  private let replica: PrivateRedisServer

  init() throws {
    primary = try PrivateRedisServer(configuration: ["repl-diskless-sync-delay 0"])
    replica = try PrivateRedisServer(configuration: ["replicaof 127.0.0.1 \(primary.port)"])
  }

  private func store(_ label: String, at server: PrivateRedisServer, _ access: RedisAccess) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: server.url)
    configuration.retryQuickly(label: label)
    configuration.access = access
    configuration.keepAliveInterval = .milliseconds(100)
    return RedisStore(configuration, logger: quiet).endingWithTest
  }

  @Test("Converges, ForeignEditsSeen: a reader on a replica shows commits and external edits at the primary")
  func hears() async throws {
    let writer = Shared(wrappedValue: 0, .redis("count", store: try store("writer", at: primary, .readWrite)))
    let store = try store("reader", at: replica, .readOnly)
    let share = SharedReader(wrappedValue: 0, .redis("count", store: store))
    try await store.waitUntilConnected(within: patience)
    writer.withLock { $0 = 1 }
    try await share.becomes(1)
    try await writer.updateAtomically { $0 += 1 }
    try await share.becomes(2)
    try primary.command("SET", "count", "30")
    try await share.becomes(30)
  }

  @Test("Liveness: says that its values may be stale when the replica has lost its primary")
  func outOfStep() async throws {
    try primary.command("SET", "count", "1")
    let store = try store("reader", at: replica, .readOnly)
    let share = SharedReader(wrappedValue: 0, .redis("count", store: store))
    try await share.becomes(1)
    try await store.waitUntilConnected(within: patience)
    primary.kill()
    try await store.isReconnecting(because: .outOfStep)
    guard case .stale(_, .outOfStep) = store.health else {
      Issue.record("\(store.health)")
      return
    }
    #expect(share.wrappedValue == 1)
    try primary.restart()
    try await store.isUp()
  }
}
