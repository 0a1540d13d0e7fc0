import SharedState
import SharedStateRedis
import SharedStateTesting
import Testing

@Suite("A failover to a replica that lags behind")
struct FailoverTests {
  @Test("AcknowledgedSurvives: what the replica has not got is given back, with its revision and writer")
  func lag() async throws {
    let scene = try await FailingOver()
    let journal = Journal()
    let stores = try (1...3).map { try scene.store("service\($0)", journal: journal) }
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    shares[0].withLock { $0 = 1 }
    try await shares[0].save()
    for share in shares { try await share.becomes(1) }
    try await scene.replicaCatchesUp()
    scene.cutReplication()
    shares[1].withLock { $0 = 2 }
    try await shares[1].save()
    for share in shares { try await share.becomes(2) }
    let before = try #require(try await stores[0].metadata(for: "count"))

    try scene.promoteReplica()
    #expect(try scene.replica.command("GET", "count").text == "1")
    scene.moveServices()
    try await eventually("the value is back") { try scene.replica.command("GET", "count").text == "2" }
    for share in shares {
      try await share.load()
      #expect(share.wrappedValue == 2)
    }
    #expect(try await stores[0].metadata(for: "count") == before)
    #expect(before.writtenBy?.hasPrefix("service2@") == true)
    try await eventually("one has healed") { journal.entries(Journal.restored).count == 1 }
  }

  @Test("AcknowledgedSurvives: what the new primary has accepted before wins, and the loss is reported")
  func writeInBetween() async throws {
    let scene = try await FailingOver()
    let journal = Journal()
    let store = try scene.store("service", journal: journal)
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    try await scene.replicaCatchesUp()
    scene.cutReplication()
    $count.withLock { $0 = 2 }
    try await $count.save()

    try scene.promoteReplica()
    let other = RedisStore(try RedisConfiguration(url: scene.replica.url), logger: quiet)
    @Shared(.redis("count", store: other)) var others = 0
    try await $others.becomes(1)
    $others.withLock { $0 = 50 }
    // One commit: it names what it was made from, and that tells the loss.
    try await other.flush(within: patience)
    scene.moveServices()
    try await $count.becomes(50)
    try await $count.load()
    #expect(try scene.replica.command("GET", "count").text == "50")
    #expect(journal.entries(Journal.lostHistory, of: "service", name: "count").count == 1)
    #expect(journal.entries(Journal.restored) == [])
  }
}
