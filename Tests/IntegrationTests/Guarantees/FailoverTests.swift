import Foundation
import Logging
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A failover to a replica that lags behind", .timeLimit(.minutes(5)), .endsStores)
struct FailoverTests {
  @Test("AcknowledgedSurvives: a change that the replica lacks is restored with its revision and writer")
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
    try await eventually("the value is restored") { try scene.replica.command("GET", "count").text == "2" }
    for share in shares {
      try await share.load()
      #expect(share.wrappedValue == 2)
    }
    #expect(try await stores[0].metadata(for: "count") == before)
    #expect(before.writtenBy?.hasPrefix("service2@") == true)
    try await eventually("one service logs the restoration") { journal.entries(Journal.restored).count == 1 }
  }

  @Test("AcknowledgedSurvives: a change that the new primary has already accepted wins, and the loss is reported")
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
    let other = RedisStore(try RedisConfiguration(url: scene.replica.url), logger: quiet).endingWithTest
    @Shared(.redis("count", store: other)) var others = 0
    try await $others.becomes(1)
    $others.withLock { $0 = 50 }
    // One commit is enough: it names the version it was made from, which reveals the loss.
    try await other.flush(within: patience)
    scene.moveServices()
    try await $count.becomes(50)
    try await $count.load()
    #expect(try scene.replica.command("GET", "count").text == "50")
    #expect(journal.entries(Journal.lostHistory, of: "service", name: "count").count == 1)
    // The service that had the lost change acknowledged learns of the loss.
    try await $count.status { ($0.saveError as? RedisSharedStateError)?.code == .conflict }
    try await eventually("the lost change is logged") {
      journal.entries(Journal.unmerged, of: "service", name: "count").map(\.level) == [.error]
    }
    #expect(journal.entries(Journal.restored) == [])
  }

  /// A document whose fields contain the name of the service that wrote them.
  private struct Document: Codable, Equatable, Sendable {
    var before = ""
    var lost = ""
    var accepted = ""
    var both = ""
  }

  @Test(
    "AcknowledgedSurvives: the new primary's change and the lost change are both kept, whatever the clocks say",
    arguments: [0, 10, 3_600]
  )
  func fork(secondsAhead: UInt64) async throws {
    let scene = try await FailingOver()
    let journal = Journal()
    let store = try scene.store("first", journal: journal)
    let share = Shared(wrappedValue: Document(), .redis("config", store: store))
    share.withLock { $0.before = "first" }
    try await share.save()
    try await scene.replicaCatchesUp()
    scene.cutReplication()
    // This moves the primary's revision ahead, as if its clock were ahead of the replica's.
    let meta = try #require(try scene.primary.command("GET", "meta:{config}").text)
    let revision = try #require(UInt64(meta.prefix { $0 != " " }))
    let later = meta.replacingOccurrences(of: "\(revision)", with: "\(revision + secondsAhead * 1_000_000)")
    try scene.primary.command("SET", "meta:{config}", later)
    try await share.load()
    share.withLock { ($0.lost, $0.both) = ("first", "first") }
    try await share.save()

    try scene.promoteReplica()
    let other = RedisStore(try RedisConfiguration(url: scene.replica.url), logger: journal.logger("second"))
      .endingWithTest
    let copy = Shared(wrappedValue: Document(), .redis("config", store: other))
    try await copy.becomes(Document(before: "first"))
    copy.withLock { ($0.accepted, $0.both) = ("second", "second") }
    try await copy.save()
    scene.moveServices()
    // In a field that both have changed, the change that the new primary had accepted wins.
    let merged = Document(before: "first", lost: "first", accepted: "second", both: "second")
    for share in [share, copy] { try await share.becomes(merged) }
    let stored = try #require(try scene.replica.command("GET", "config").text)
    #expect(try JSONDecoder().decode(Document.self, from: Data(stored.utf8)) == merged)
    #expect(journal.entries(Journal.merged).count == 1)
    try await share.status { ($0.saveError as? RedisSharedStateError)?.code == .conflict }
    try await eventually("the lost change is logged") {
      journal.entries(Journal.unmerged).map(\.level) == [.error]
    }
    #expect(!journal.entries(Journal.lostHistory, of: "first", name: "config").isEmpty)
  }

  private struct Range: Codable, Hashable, Sendable {
    struct Invalid: Error {}

    var lower = 0
    var upper = 10
    var items: [Item] = []
    var visits = MergingCounter(0)

    func validate() throws {
      guard lower <= upper else { throw Invalid() }
    }
  }

  private struct Item: Codable, Hashable, Identifiable, Sendable {
    var id: Int
  }

  @Test(
    "FieldsMerge, BadDataHeld: elements are merged, but two incompatible changes are not",
    arguments: [true, false]
  )
  func rules(goTogether: Bool) async throws {
    let scene = try await FailingOver()
    let journal = Journal()
    let options = RedisSharedKey<Range>.Options(validate: { try $0.validate() })
    let store = try scene.store("first", journal: journal)
    let share = Shared(wrappedValue: Range(), .redis("range", store: store, options: options))
    share.withLock { $0.items = [Item(id: 1)] }
    try await share.save()
    try await scene.replicaCatchesUp()
    scene.cutReplication()
    share.withLock {
      $0.upper = goTogether ? 9 : 4
      $0.items.append(Item(id: 2))
      $0.visits.value += 1
    }
    try await share.save()

    try scene.promoteReplica()
    let configuration = try RedisConfiguration(url: scene.replica.url)
    let other = RedisStore(configuration, logger: journal.logger("second")).endingWithTest
    let copy = Shared(wrappedValue: Range(), .redis("range", store: other, options: options))
    let before = Range(items: [Item(id: 1)])
    try await copy.becomes(before)
    copy.withLock {
      $0.lower = 7
      $0.items.append(Item(id: 3))
      $0.visits.value += 2
    }
    let accepted = copy.wrappedValue
    try await copy.save()
    scene.moveServices()
    let items = [Item(id: 1), Item(id: 2), Item(id: 3)]
    let merged = Range(lower: 7, upper: 9, items: items, visits: MergingCounter(3))
    for share in [share, copy] {
      try await share.becomes(goTogether ? merged : accepted)
      try await share.load()
      #expect(share.loadError == nil)
    }
  }
}
