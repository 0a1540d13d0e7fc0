import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

/// A server with a replica, real or fake, that a test can disturb.
private struct ReplicatedServer {
  let backend: any Backend
  let replica: PrivateRedisServer?

  init(_ kind: BackendKind, isPersistent: Bool = false) async throws {
    switch kind {
    case .fake:
      let fake = FakeBackend()
      fake.redis.replicate(to: 1)
      (backend, replica) = (fake, nil)
    case .server:
      let lines = ["repl-diskless-sync-delay 0"]
      let primary = try ServerBackend(isPersistent: isPersistent, configuration: lines)
      let line = "replicaof 127.0.0.1 \(primary.server.port)"
      (backend, replica) = (primary, try PrivateRedisServer(isPersistent: isPersistent, configuration: [line]))
      try await primary.server.isFollowed()
    }
  }

  private var fake: InProcessRedis? { (backend as? FakeBackend)?.redis }

  func pauseReplica() throws {
    fake?.replicate(to: 0)
    try replica?.pause()
  }

  func resumeReplica() throws {
    fake?.replicate(to: 1)
    try replica?.resume()
  }

  func endReplica() async throws {
    fake?.replicate(to: 0)
    replica?.kill()
    guard let server = backend as? ServerBackend else { return }
    try await eventually("the replica is gone") {
      try server.server.command("INFO", "replication").text?.contains("connected_slaves:0") == true
    }
  }

  /// How often the server was asked to wait for replicas.
  func waits() throws -> Int {
    guard let server = backend as? ServerBackend else { return 0 }
    let statistics = try server.server.command("INFO", "commandstats").text ?? ""
    let line = statistics.split(separator: "\r\n").first { $0.hasPrefix("cmdstat_wait:calls=") }
    return line.flatMap { Int($0.dropFirst("cmdstat_wait:calls=".count).prefix { $0.isNumber }) } ?? 0
  }

  func count(in store: RedisStore, _ name: String = "count", replicas: RedisReplicas = 1) async throws -> Shared<Int> {
    let share = Shared(wrappedValue: 0, .redis(name, store: store, options: .init(replicas: replicas)))
    try await share.load()
    return share
  }
}

extension PrivateRedisServer {
  /// Waits until a replica has all data.
  fileprivate func isFollowed() async throws {
    try await eventually("the replica follows") {
      try self.command("INFO", "replication").text?.contains("state=online") == true
    }
  }
}

private final class Flag: Sendable {
  private let flag = Atomic(false)

  var isSet: Bool { flag.load(ordering: .sequentiallyConsistent) }

  func set() { flag.store(true, ordering: .sequentiallyConsistent) }
}

@Suite("Replicas", .timeLimit(.minutes(5)), .endsStores)
struct ReplicasTests {
  /// Changes and saves a value, and disturbs that meanwhile. In the end it is saved.
  private static func saving(_ share: Shared<Int>, meanwhile disturb: (_ isSaved: Flag) async throws -> Void)
    async throws
  {
    let isSaved = Flag()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        share.withLock { $0 = 1 }
        try await share.save(within: patience)
        isSaved.set()
      }
      try await disturb(isSaved)
      try await group.waitForAll()
    }
    #expect(isSaved.isSet)
  }

  @Test(
    "AcknowledgedSurvives: a save with replicas returns once a replica has the change",
    arguments: BackendKind.allCases
  )
  func saved(kind: BackendKind) async throws {
    let server = try await ReplicatedServer(kind)
    let store = try server.backend.store()
    let count = try await server.count(in: store)
    for number in 1...20 {
      count.withLock { $0 = number }
      try await count.save()
      if let replica = server.replica { #expect(try replica.command("GET", "count").text == "\(number)") }
    }
    try await count.updateAtomically { $0 += 1 }
    if let replica = server.replica { #expect(try replica.command("GET", "count").text == "21") }
    // One for each of these commits, which no other joins, and more if the replica is slow.
    if kind == .server { #expect(try server.waits() >= 21) }
    #expect(store.report().values.map(\.progress) == [.current])
  }

  @Test("Without replicas, the server is never asked to wait")
  func unused() async throws {
    let server = try await ReplicatedServer(.server)
    let count = try await server.count(in: try server.backend.store(), replicas: 0)
    for _ in 1...20 { try await count.updateAtomically { $0 += 1 } }
    #expect(try server.waits() == 0)
  }

  @Test(
    "AcknowledgedSurvives: while the replica does not answer, the change is stored once, and the error says what lacks",
    arguments: BackendKind.allCases
  )
  func paused(kind: BackendKind) async throws {
    let server = try await ReplicatedServer(kind)
    let store = try server.backend.store()
    let count = try await server.count(in: store)
    try server.pauseReplica()
    let commits = try CommitCount(server.backend)
    count.withLock { $0 = 1 }
    let error = await #expect(throws: RedisSharedStateError.self) { try await count.save(within: .seconds(2)) }
    #expect(error?.code == .notReplicated)
    #expect(error?.name == "count")
    #expect(error?.description.contains("only 0 of 1 replicas") == true)
    #expect(try server.backend.get("count") == "1")
    try await count.status("the save error") { ($0.saveError as? RedisSharedStateError)?.code == .notReplicated }
    #expect(store.report().values.map(\.progress) == [.replicating])
    #expect(try commits.count() == 1)
    let updated = await #expect(throws: RedisSharedStateError.self) {
      try await count.updateAtomically(within: .seconds(2)) { $0 += 1 }
    }
    #expect(updated?.code == .notReplicated)
    let flushed = await #expect(throws: RedisSharedStateError.self) {
      try await store.flush(within: .milliseconds(300))
    }
    #expect(flushed?.code == .notReplicated)

    try server.resumeReplica()
    try await store.flush(within: patience)
    try await count.status("no save error") { $0.saveError == nil }
    #expect(store.report().values.map(\.progress) == [.current])
    #expect(try server.backend.get("count") == "2")
    #expect(try commits.count() == 2)
    if let replica = server.replica { #expect(try replica.command("GET", "count").text == "2") }
  }

  @Test("A replica that has left is missed", arguments: BackendKind.allCases)
  func none(kind: BackendKind) async throws {
    let server = try await ReplicatedServer(kind)
    let count = try await server.count(in: try server.backend.store())
    try await server.endReplica()
    count.withLock { $0 = 1 }
    try await count.status("the save error") { share in
      "\(String(describing: share.saveError))".contains("only 0 of 1 replicas")
    }
    let error = await #expect(throws: RedisSharedStateError.self) { try await count.save(within: .seconds(2)) }
    #expect(error?.code == .notReplicated)
  }

  @Test(
    "Bounded: while a replica does not answer, other values are saved and loaded",
    arguments: BackendKind.allCases
  )
  func others(kind: BackendKind) async throws {
    let server = try await ReplicatedServer(kind)
    let store = try server.backend.store()
    let count = try await server.count(in: store)
    let other = try await server.count(in: store, "other", replicas: 0)
    try server.pauseReplica()
    try await Self.saving(count) { isSaved in
      try await count.status("the save error") { $0.saveError != nil }
      let before = try server.waits()
      for number in 1...200 {
        other.withLock { $0 = number }
        try await other.save()
        try await other.load()
      }
      #expect(!isSaved.isSet)
      // They do not make the store ask more often.
      if kind == .server { #expect(try server.waits() - before < 200) }
      try server.resumeReplica()
    }
    if let replica = server.replica { #expect(try replica.command("GET", "other").text == "200") }
  }

  @Test("AcknowledgedSurvives: another connection does not take a change for replicated that is not")
  func reconnected() async throws {
    let server = try await ReplicatedServer(.server)
    let store = try server.backend.store()
    let count = try await server.count(in: store)
    try server.pauseReplica()
    try await Self.saving(count) { isSaved in
      try await eventually("the change is stored") { try server.backend.get("count") == "1" }
      try server.backend.cut(.writer, of: "service")
      let before = try server.waits()
      // A server answers a connection that has written nothing immediately.
      try await eventually("the new connection has asked") { try server.waits() >= before + 2 }
      #expect(!isSaved.isSet)
      try server.resumeReplica()
    }
    #expect(try server.replica?.command("GET", "count").text == "1")
    // The mark expires.
    try await eventually("the mark is gone") { try server.backend.get("mark:{}") == nil }
  }

  @Test("AcknowledgedSurvives: a server that is a replica for a while is not asked whether it has replicas")
  func demoted() async throws {
    let server = try await ReplicatedServer(.server)
    let primary = try #require(server.backend as? ServerBackend)
    let store = try server.backend.store()
    let count = try await server.count(in: store)
    try server.pauseReplica()
    try await Self.saving(count) { isSaved in
      try await eventually("the server was asked") { try server.waits() > 0 }
      // Nothing listens on this port.
      try primary.server.command("REPLICAOF", "127.0.0.1", "1")
      try await eventually("the store has left") { store.status != .connected }
      #expect(!isSaved.isSet)
      try server.resumeReplica()
      try primary.server.command("REPLICAOF", "NO", "ONE")
    }
    #expect(try server.replica?.command("GET", "count").text == "1")
  }

  @Test("Changes that are made together cost few questions")
  func together() async throws {
    let server = try await ReplicatedServer(.server)
    let store = try server.backend.store()
    var shares: [Shared<Int>] = []
    for number in 0..<100 { shares.append(try await server.count(in: store, "count\(number)")) }
    for share in shares { share.withLock { $0 = 1 } }
    try await store.flush(within: patience)
    // While the thread of the link waits for a processor, a caller may send some changes by itself, each with a question
    // of its own. A slow replica adds some.
    #expect(try server.waits() <= 50)
    if let replica = server.replica { #expect(try replica.command("GET", "count99").text == "1") }
  }

  @Test("A caller that waits for replicas fails if the change is lost and not restored", arguments: [false, true])
  func notRestored(isUpdate: Bool) async throws {
    let backend = FakeBackend()
    let way = Way()
    let store = try backend.store(way: way) { $0.dataLossPolicy = .adoptServer }
    let count = try await Self.saved(in: store, isUpdate: isUpdate)
    backend.saveDump()
    backend.redis.replicate(to: 0)
    let before = way.waitsSent
    async let outcome = Self.change(count, to: 2, isUpdate: isUpdate)
    try await eventually("the caller waits for replicas") { way.waitsSent > before }
    #expect(backend.get("count") == "2")
    backend.restartFromDump()
    #expect(try await outcome == (isUpdate ? .outcomeUnknown : .conflict))
    #expect(backend.get("count") == "1")
  }

  @Test(
    "A caller that waits for replicas fails if a merge with another history overrides the change",
    arguments: [false, true]
  )
  func overridden(isUpdate: Bool) async throws {
    let backend = FakeBackend()
    let way = Way()
    let store = try backend.store(way: way)
    let count = try await Self.saved(in: store, isUpdate: isUpdate)
    backend.saveDump()
    backend.redis.replicate(to: 0)
    let before = way.waitsSent
    async let outcome = Self.change(count, to: 2, isUpdate: isUpdate)
    try await eventually("the caller waits for replicas") { way.waitsSent > before }
    #expect(backend.get("count") == "2")
    try await backend.cutOff(store, "service", way)
    backend.restartFromDump()
    let newcomer = try backend.store("newcomer")
    let other = Shared(wrappedValue: 0, .redis("count", store: newcomer))
    try await other.becomes(1)
    other.withLock { $0 = 50 }
    try await newcomer.flush(within: patience)
    way.open()
    #expect(try await outcome == (isUpdate ? .outcomeUnknown : .conflict))
    #expect(backend.get("count") == "50")
  }

  /// Saves a value. Only atomic updates of it wait for a replica without being asked to: a change is stored by itself,
  /// maybe before its caller waits.
  private static func saved(in store: RedisStore, isUpdate: Bool) async throws -> Shared<Int> {
    let replicas: RedisReplicas = isUpdate ? 1 : 0
    let count = Shared(wrappedValue: 0, .redis("count", store: store, options: .init(replicas: replicas)))
    count.withLock { $0 = 1 }
    try await count.save()
    return count
  }

  /// Changes a value, waits for a replica, and returns the code of the error.
  private static func change(_ share: Shared<Int>, to number: Int, isUpdate: Bool) async throws -> RedisSharedStateError
    .Code?
  {
    do {
      if isUpdate {
        try await share.updateAtomically(within: patience) { $0 = number }
      } else {
        share.withLock { $0 = number }
        try await share.save(replicas: 1, within: patience)
      }
      return nil
    } catch let error as RedisSharedStateError {
      return error.code
    }
  }

  @Test("A single save may ask for replicas, or for disks", arguments: BackendKind.allCases)
  func single(kind: BackendKind) async throws {
    let server = try await ReplicatedServer(kind, isPersistent: true)
    let count = try await server.count(in: try server.backend.store(), replicas: 0)
    count.withLock { $0 = 1 }
    try await count.save(replicas: 1)
    if let replica = server.replica { #expect(try replica.command("GET", "count").text == "1") }
    count.withLock { $0 = 2 }
    guard let primary = server.backend as? ServerBackend,
      case .error = try primary.server.command("WAITAOF", "0", "0", "1")
    else { return try await count.save(replicas: .onDisk(1)) }
    let error = await #expect(throws: RedisSharedStateError.self) { try await count.save(replicas: .onDisk(1)) }
    #expect(error?.code == .notReplicated)
    #expect(error?.description.contains("unknown command") == true)
    #expect(try server.backend.get("count") == "2")
  }

  @Test("A server without an append-only file cannot promise disks, and the error says so")
  func memoryOnly() async throws {
    let server = try await ReplicatedServer(.server)
    let count = try await server.count(in: try server.backend.store(), replicas: .onDisk(0))
    count.withLock { $0 = 1 }
    let error = await #expect(throws: RedisSharedStateError.self) { try await count.save() }
    #expect(error?.code == .notReplicated)
    let texts = ["appendonly", "unknown command"]
    #expect(texts.contains { error?.description.contains($0) == true }, "\(String(describing: error))")
  }

  @Test("The access rules permit waiting for replicas only on request, and the error names the command")
  func rights() async throws {
    let server = try PrivateRedisServer(configuration: ["repl-diskless-sync-delay 0"])
    let replica = try PrivateRedisServer(configuration: ["replicaof 127.0.0.1 \(server.port)"])
    try await server.isFollowed()
    for replicas in [0, 1] as [RedisReplicas] {
      let rules = try RedisAccess.rules(user: "user\(replicas.count)", namespace: "shop:", replicas: replicas)
      let command = ServerVersion.rights(rules).split(separator: " ").map { Data($0.utf8) } + [Data(">secret".utf8)]
      #expect(try server.command(command).text == "OK")
      var configuration = try RedisConfiguration(
        url: "redis://user\(replicas.count):secret@127.0.0.1:\(server.port)?namespace=shop:"
      )
      configuration.retryQuickly(label: "service\(replicas.count)")
      let store = RedisStore(configuration, logger: quiet).endingWithTest
      let count = Shared(wrappedValue: 0, .redis("count", store: store, options: .init(replicas: 1)))
      try await count.load()
      count.withLock { $0 += 1 }
      if replicas == 1 {
        try await count.save()
        #expect(try replica.command("GET", "shop:count").text == "2")
      } else {
        let error = await #expect(throws: RedisSharedStateError.self) { try await count.save() }
        // The change has taken effect, so a missing permission is only the reason.
        #expect(error?.code == .notReplicated)
        #expect(error?.description.contains("WAIT") == true)
        #expect(try server.command("GET", "shop:count").text == "1")
      }
    }
  }

  @Test("A value that no Redis key keeps has no replicas")
  func local() async throws {
    let error = await #expect(throws: RedisSharedStateError.self) { try await Shared(value: 1).save(replicas: 1) }
    #expect(error?.code == .notReplicated)
    #expect(error?.description.contains("No Redis key keeps this value") == true)
  }
}
