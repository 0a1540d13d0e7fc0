import Foundation
@testable import RedisConnectionContract
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// The server changes its replication ID and loses nothing.
@Suite("A backup of the server", .timeLimit(.minutes(5)), .endsStores)
struct BackupTests {
  @Test(
    "ForeignEditsSeen: every service follows a deletion by hand behind a backup, and none undoes it",
    arguments: BackendKind.allCases,
    [ForeignEdit.delete, .expire, .flushAll]
  )
  func deletion(kind: BackendKind, edit: ForeignEdit) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let writer = try backend.store("writer", logger: journal.logger("writer"))
    let reader = try backend.store("reader", logger: journal.logger("reader")) { $0.access = .readOnly }
    let shares = [writer, reader].map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    for share in shares { try await share.load() }
    shares[0].withLock { $0 = 1 }
    try await shares[0].save()
    for share in shares { try await share.becomes(1) }

    try await backend.backUp()
    // The server reports its vitals again, so that the services know of the other ID.
    for (store, share) in zip([writer, reader], shares) {
      _ = try await store.metadata(for: "count")
      try await share.load()
    }
    try edit.make(on: "count", in: "", backend)
    for share in shares { try await share.becomes(0) }
    try await eventually("a tombstone is stored") {
      try backend.get(KeyNames(namespace: "", name: "count", database: 0).meta).flatMap { Meta($0) }?.kind == .deleted
    }
    for share in shares {
      try await share.load()
      #expect(share.wrappedValue == 0)
    }
    #expect(try backend.get("count") == nil)
    #expect(journal.entries(Journal.restored).isEmpty)
  }

  @Test(
    "ForeignEditsSeen: services that only read follow a deletion by hand behind a backup",
    arguments: BackendKind.allCases,
    [ForeignEdit.delete, .flushAll]
  )
  func deletionForReaders(kind: BackendKind, edit: ForeignEdit) async throws {
    let backend = try kind.make()
    let writer = try backend.store("writer")
    let share = Shared(wrappedValue: 0, .redis("count", store: writer))
    share.withLock { $0 = 1 }
    try await share.save()
    await writer.shutdown(within: patience)

    let way = Way()
    let store = try backend.store("reader", way: way) { $0.access = .readOnly }
    let reader = Shared(wrappedValue: 0, .redis("count", store: store))
    try await reader.becomes(1)
    try await backend.backUp()
    // A new connection makes no difference: the server is the same.
    try await backend.cutOff(store, "reader", way)
    way.open()
    try await store.waitUntilConnected(within: patience)
    try edit.make(on: "count", in: "", backend)
    try await reader.becomes(0)
  }

  @Test("A backup uses up no line of a value's metadata", arguments: BackendKind.allCases)
  func lines(kind: BackendKind) async throws {
    let backend = try kind.make()
    let share = Shared(wrappedValue: 0, .redis("count", store: try backend.store("first")))
    for round in 1...3 {
      share.withLock { $0 = 2 * round }
      try await share.save()
      try await backend.backUp()
      // A service that has never seen the former ID.
      let store = try backend.store("newcomer\(round)")
      let newcomer = Shared(wrappedValue: 0, .redis("count", store: store))
      try await newcomer.load()
      newcomer.withLock { $0 += 1 }
      try await newcomer.save()
      try await share.becomes(2 * round + 1)
    }
    let meta = try #require(
      try backend.get(KeyNames(namespace: "", name: "count", database: 0).meta).flatMap { Meta($0) }
    )
    #expect(meta.lineage.lines.count == 1)
  }
}

/// What a server reports, while it changes its role and its replication ID.
@Suite("The origin of a server's data", .timeLimit(.minutes(5)))
struct OriginTests {
  /// The vitals as a new connection has them, in a session of its own.
  private func vitals(of server: PrivateRedisServer, session: UInt64) throws -> Vitals {
    var vitals = try #require(try ConnectionDriver(server).connection.facts.vitals)
    if vitals.session != nil { vitals.session = session }
    return vitals
  }

  /// The vitals as reported again on a connection.
  private func vitals(on driver: ConnectionDriver) throws -> Vitals {
    guard case .vitals(let vitals) = try driver.reply(to: .vitals) else { throw ConnectionDriver.NoAnswer() }
    return vitals
  }

  private func replicationID(of server: PrivateRedisServer) throws -> ReplicationID? {
    try vitals(of: server, session: 0).replicationID
  }

  private func follow(_ replica: PrivateRedisServer, _ primary: PrivateRedisServer) async throws {
    let marker = UUID().uuidString
    try primary.command("SET", "marker", marker)
    try replica.command("REPLICAOF", "127.0.0.1", String(primary.port))
    try await eventually("the replica catches up") { try replica.command("GET", "marker").text == marker }
  }

  private static let settings = ["repl-diskless-sync-delay 0", "repl-backlog-ttl 3"]

  @Test("A backup, the first replica, and the end of the backlog behind the last one, continue a history")
  func continued() async throws {
    let server = try PrivateRedisServer(configuration: Self.settings)
    let driver = try ConnectionDriver(server)
    let (first, firstConnection) = (try vitals(on: driver), try vitals(of: server, session: 1))
    var known = try #require(first.replicationID)
    func expectContinuation(_ what: Comment) throws {
      let changed = try #require(try replicationID(of: server))
      #expect(changed != known, what)
      known = changed
      #expect(try vitals(on: driver).continues(first), what)
      // Redis 6.2 proves it only to those that were connected all the time.
      let isCounted = firstConnection.session == nil
      #expect(try vitals(of: server, session: 2).continues(firstConnection) == isCounted, what)
      #expect(try vitals(on: driver).era == first.era, what)
    }
    try await server.backUp()
    try expectContinuation("a backup")
    // The backlog outlives the backup, and is discarded like that of a replica.
    let ofBackup = known
    try await eventually("the backlog is discarded") { try replicationID(of: server) != ofBackup }
    try expectContinuation("the end of the backlog")
    let replica = try PrivateRedisServer(configuration: Self.settings)
    try await follow(replica, server)
    try expectContinuation("the first replica")
  }

  @Test("Data of another server end a history, and the end of the backlog does not hide that")
  func ended() async throws {
    let server = try PrivateRedisServer(configuration: Self.settings)
    let other = try PrivateRedisServer(configuration: Self.settings)
    let first = try vitals(of: server, session: 1)
    try await follow(server, other)
    try server.command("REPLICAOF", "NO", "ONE")
    let promoted = try vitals(of: server, session: 2)
    #expect(!promoted.continues(first))
    try await eventually("the backlog is discarded") {
      try vitals(of: server, session: 3).replicationID != promoted.replicationID
    }
    // Now it looks like a server that was never anything else.
    #expect(try server.command("INFO", "replication").text?.contains("second_repl_offset:-1") == true)
    #expect(try !vitals(of: server, session: 4).continues(first))
  }

  @Test("A promoted replica has another history than its primary, and a replica has that of its primary")
  func promoted() async throws {
    let (primary, replica) = (
      try PrivateRedisServer(configuration: Self.settings), try PrivateRedisServer(configuration: Self.settings)
    )
    try await follow(replica, primary)
    let former = try vitals(of: primary, session: 1)
    let url = replica.url
    var configuration = try RedisConfiguration(url: url)
    configuration.access = .readOnly
    let reader = try HiredisConnector(configuration: configuration)
      .connect(purpose: .writer, waker: Waker(), deadline: .now.advanced(by: patience))
    defer { reader.close() }
    #expect(reader.facts.vitals?.continues(former) == true)
    try replica.command("REPLICAOF", "NO", "ONE")
    #expect(try !vitals(of: replica, session: 2).continues(former))
  }

  @Test("A restarted server has another history, whatever it has loaded")
  func restarted() async throws {
    let server = try PrivateRedisServer(isPersistent: true)
    let first = try vitals(of: server, session: 1)
    try server.restart()
    #expect(try !vitals(of: server, session: 2).continues(first))
  }
}
