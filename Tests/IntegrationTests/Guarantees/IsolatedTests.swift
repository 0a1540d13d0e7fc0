import Foundation
import MetricsTestKit
@testable import RedisConnectionContract
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Isolated", .timeLimit(.minutes(5)), .endsStores)
struct IsolatedTests {
  /// Exactly the rights that a service needs: its namespace, its channels, and the channel of invalidations.
  static let rules =
    "resetkeys ~ns:* resetchannels &ns:* &__redis__:invalidate -@all "
    + "+evalsha +eval +script|load +mget +get +strlen +set +msetnx +type +exists +unlink +rename +pttl "
    + "+pexpire +persist +time +publish "
    + "+subscribe +unsubscribe +pubsub|numsub +ping +role +info +client|setname +client|id +client|tracking"

  @Test(
    "A neighbour's message on the invalidation channel is discarded and counted as malformed",
    arguments: BackendKind.allCases
  )
  func forgedInvalidations(kind: BackendKind) async throws {
    let backend = try kind.make()
    let metrics = TestMetrics()
    let way = Way()
    let store = try backend.store("service", metrics: metrics, way: way) { $0.antiEntropyInterval = .seconds(3_600) }
    let keys = (0...20).map { "value\($0)" }
    let shares = keys.map { Shared(wrappedValue: 0, .redis($0, store: store)) }
    for share in shares { try await share.load() }
    let before = keys.dropLast().map { way.looks(at: $0) }
    for number in 0..<50 {
      try backend.publish(number.isMultiple(of: 2) ? "x" : keys[number % 20], on: "__redis__:invalidate")
    }
    try await eventually("all malformed messages are counted") {
      metrics.counterTotal(label: "shared_state_malformed_messages") == 50
    }
    try await finishChecks(backend, key: keys[20], way)
    #expect(keys.dropLast().map { way.looks(at: $0) } == before)
    #expect(shares.allSatisfy { $0.loadError == nil })
  }

  @Test("Every operation works with rights to the namespace alone and attempts nothing beyond it")
  func accessControl() async throws {
    let backend = try ServerBackend(isPersistent: false, configuration: ["user service on >secret \(Self.rules)"])
    let journal = Journal()
    let ways = [Way(), Way()]
    let stores = try (0..<2).map { number in
      var configuration = try RedisConfiguration(
        url: backend.server.url.replacingOccurrences(of: "redis://", with: "redis://service:secret@")
      )
      configuration.retryQuickly(label: "service\(number)")
      configuration.namespace = "ns:"
      configuration.antiEntropyInterval = .milliseconds(100)
      return RedisStore(
        connector: WatchedConnector(base: HiredisConnector(configuration: configuration), way: ways[number]),
        configuration: configuration,
        isInProcess: false,
        logger: journal.logger("service\(number)")
      ).endingWithTest
    }
    try backend.set("other:limits", "not ours")
    try backend.set("limits", "not ours")
    let shares = stores.map { Shared(wrappedValue: Limits(), .redis("limits", store: $0)) }
    let brief = stores.map {
      Shared(wrappedValue: 0, .redis("brief", store: $0, options: .init(timeToLive: .seconds(3_600))))
    }
    for share in shares { try await share.load() }

    // Small and large changes, with and without an expiry.
    for (round, note) in ["small", String(repeating: "large ", count: 20_000), "small again"].enumerated() {
      shares[round % 2].withLock { $0 = Limits(maximum: round, note: note) }
      try await shares[round % 2].save()
      for share in shares { try await share.becomes(Limits(maximum: round, note: note)) }
    }
    brief[0].withLock { $0 = 1 }
    try await brief[0].save()
    try await brief[1].becomes(1)
    try await shares[1].updateAtomically { $0.maximum += 1 }
    try await shares[0].value { $0.maximum == 3 }
    // Edits from outside: small and large documents, an expiry, a key of another type, and a deletion.
    try backend.set("ns:limits", #"{"maximum":42,"note":"foreign"}"#)
    for share in shares { try await share.becomes(Limits(maximum: 42, note: "foreign")) }
    let large = String(repeating: "x", count: 20_000)
    try backend.set("ns:limits", #"{"maximum":43,"note":"\#(large)"}"#)
    for share in shares { try await share.becomes(Limits(maximum: 43, note: large)) }
    try backend.server.command("EXPIRE", "ns:limits", "3600")
    shares[0].withLock { $0.note = "\(large)y" }
    try await shares[0].save()
    #expect(try backend.server.command("TTL", "ns:limits").text.flatMap { Int($0) } ?? 0 > 0)
    try backend.setList("ns:limits")
    // Once both services have seen the list, neither writes any more.
    for share in shares { try await share.status { $0.loadError != nil } }
    try await shares[0].save(replacingUnreadable: true)
    try await shares[1].status { $0.loadError == nil }
    try backend.delete("ns:limits")
    for share in shares { try await share.becomes(Limits()) }
    shares[0].withLock { $0.maximum = 7 }
    try await shares[0].save()
    try await shares[0].reset()
    for share in shares { try await share.becomes(Limits()) }
    // A loss and its healing. A restart keeps the users of redis.conf.
    shares[0].withLock { $0.maximum = 8 }
    try await shares[0].save()
    for share in shares { try await share.value { $0.maximum == 8 } }
    #expect(try keys(backend).allSatisfy { $0.hasPrefix("ns:") || ["limits", "other:limits"].contains($0) })
    #expect(try backend.get("limits") == "not ours")
    #expect(try backend.server.command("ACL", "LOG") == .array([]))
    let channels = try backend.server.command("PUBSUB", "CHANNELS").elements.compactMap(\.text)
    #expect(Set(channels) == ["ns:changes:{ns:limits}", "ns:changes:{ns:brief}", "__redis__:invalidate"])
    try backend.restartFromDump()
    try await eventually("the value is restored") { try backend.get("ns:limits")?.contains("8") == true }

    #expect(try backend.server.command("ACL", "LOG") == .array([]))
    #expect(try keys(backend).allSatisfy { $0.hasPrefix("ns:") })
    #expect(journal.entries(Journal.trackingRefused) == [])
    #expect(shares.allSatisfy { $0.saveError == nil })
  }

  @Test("A read-only service follows every change and can neither write nor publish")
  func reader() async throws {
    let rules =
      "resetkeys %R~ns:* resetchannels &ns:* &__redis__:invalidate -@all +mget +type +strlen +exists "
      + "+subscribe +unsubscribe +pubsub|numsub +ping +role +info +client|setname +client|id +client|tracking"
    let backend = try ServerBackend(
      isPersistent: false,
      configuration: ["user reader on >secret \(ServerVersion.rights(rules))"]
    )
    let url = backend.server.url.replacingOccurrences(of: "redis://", with: "redis://reader:secret@")
    let journal = Journal()
    var configuration = try RedisConfiguration(url: url)
    configuration.retryQuickly(label: "reader")
    configuration.namespace = "ns:"
    let reader = RedisStore(configuration, logger: journal.logger("reader")).endingWithTest
    let writer = try backend.store("writer") { $0.namespace = "ns:" }
    let followed = Shared(wrappedValue: Limits(), .redis("limits", store: reader))
    let shared = Shared(wrappedValue: Limits(), .redis("limits", store: writer))
    try await followed.load()
    for note in ["small", String(repeating: "large ", count: 20_000)] {
      shared.withLock { $0.note = note }
      try await shared.save()
      try await followed.value { $0.note == note }
    }
    try backend.set("ns:limits", #"{"maximum":42,"note":"foreign"}"#)
    try await followed.becomes(Limits(maximum: 42, note: "foreign"))
    followed.withLock { $0.maximum = 43 }
    await #expect(throws: RedisSharedStateError.self) { try await followed.save() }
    #expect(try backend.get("ns:limits") == #"{"maximum":42,"note":"foreign"}"#)
    let published = try RedisCommandClient(url: url).command(
      ["PUBLISH", "ns:changes:{ns:limits}", "x"].map { Data($0.utf8) }
    )
    guard case .error(let text) = published, text.hasPrefix("NOPERM") else {
      Issue.record("\(published)")
      return
    }
    #expect(journal.entries(Journal.trackingRefused) == [])
  }

  @Test("Writes outside the namespace cause no reads", arguments: BackendKind.allCases)
  func outside(kind: BackendKind) async throws {
    let backend = try kind.make()
    let way = Way()
    let store = try backend.store(way: way) {
      $0.namespace = "ns:"
      // Anti-entropy reads nothing during the test.
      $0.antiEntropyInterval = .seconds(3_600)
    }
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("neighbour", store: store)) var neighbour = 0
    try backend.set("n:count", "1")
    for share in [$count, $neighbour] { try await share.load() }
    let before = way.looks(at: "ns:count")
    for key in ["count", "n:count", "ns", "other:ns:count", "changes:{ns:count}"] {
      try backend.set(key, "9")
      try backend.delete(key)
      try backend.publish(Self.hint, on: key, provenBy: nil)
    }
    try await finishChecks(backend, key: "ns:neighbour", in: "ns:", way)
    #expect(way.looks(at: "ns:count") == before)
    for share in [$count, $neighbour] { try await share.load() }
    #expect(way.looks(at: "ns:count") == before + 1)
    #expect(count == 0)
    #expect($count.loadError == nil)
  }

  /// A message without proof. A service that it reaches reads the value within a second.
  private static let hint = ChangeMessage(
    revision: Revision(1),
    parent: .none,
    writer: "other@host/1/n",
    content: .deleted
  )

  /// Waits until a service has checked the values that it has a reason to check by now.
  ///
  /// A hint makes it look at one more value, after all that it checks because of reported writes. It follows a second
  /// hint almost a second after it has followed the first one, and so after all other hints before that.
  private func finishChecks(
    _ backend: any Backend,
    key: String,
    in namespace: String = "",
    _ way: Way
  ) async throws {
    for _ in 1...2 {
      let before = way.looks(at: key)
      try backend.publish(Self.hint, on: "\(namespace)changes:{\(key)}", provenBy: nil)
      try await eventually("the hint is followed") { way.looks(at: key) > before }
    }
  }

  private func keys(_ backend: ServerBackend) throws -> [String] {
    try backend.server.command("KEYS", "*").elements.compactMap(\.text)
  }
}
