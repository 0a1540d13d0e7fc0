import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting
import Synchronization
import Testing

@Suite("Two primaries that both accept changes", .timeLimit(.minutes(10)), .endsStores)
struct ForkTests {
  /// Each change of a service is an entry of its own, or counts.
  private struct Document: Codable, Equatable, Sendable {
    var first: [String: Int] = [:]
    var second: [String: Int] = [:]
    var visits = MergingCounter(0)
    var text = ""
  }

  /// More than any service remembers one by one.
  private static let manyChanges = repetitions(1_000, sanitized: 60)
  private static let changesOfReign = repetitions(20, sanitized: 3)

  @Test(
    "AcknowledgedSurvives: every change of either side survives, whatever their number and the value's size",
    arguments: [(1, 1), (manyChanges, 1), (60, 10), (8, 100)]
  )
  func bothSides(changes: Int, kilobytes: Int) async throws {
    let (stored, journal) = try await heal(changes, kilobytes: kilobytes) { _ in }
    #expect(stored.first.count == changes)
    #expect(stored.second.count == changes)
    #expect(stored.visits.value == 2 * changes)
    #expect(journal.entries(Journal.unmerged) == [])
    #expect(journal.entries(Journal.merged).count == 1)
  }

  @Test(
    "AcknowledgedSurvives: where the user may not copy, both sides are merged with what the services remember",
    arguments: [(8, 100), (60, 10)]
  )
  func withoutCopies(changes: Int, kilobytes: Int) async throws {
    let (stored, _) = try await heal(changes, kilobytes: kilobytes) { server in
      try server.command("ACL", "SETUSER", "default", "-copy")
    }
    #expect(stored.first.count == changes)
    #expect(stored.second.count == changes)
  }

  @Test("AcknowledgedSurvives: an external edit that comes first is merged as well")
  func editFirst() async throws {
    let (stored, _) = try await heal(8, kilobytes: 10) { server in
      let text = try #require(try server.command("GET", "value").text)
      try server.command("SET", "value", text.replacing(#""second":{"#, with: #""second":{"edit":0"#))
    }
    #expect(stored.first.count == 8)
    #expect(stored.second.count == 9)
  }

  /// Lets both primaries accept changes, and then moves all services to the new one.
  ///
  /// - Parameter prepare: Called with the new primary before it accepts a change.
  /// - Returns: What is stored in the end.
  private func heal(
    _ changes: Int,
    kilobytes: Int,
    prepare: (PrivateRedisServer) throws -> Void
  ) async throws -> (Document, Journal) {
    let scene = try await FailingOver()
    let journal = Journal()
    let first = try share(try scene.store("first", journal: journal))
    first.withLock { $0.text = String(repeating: "x", count: kilobytes * 1_024) }
    try await first.save()
    let before = first.wrappedValue
    try await scene.replicaCatchesUp()
    scene.cutReplication()
    try scene.replica.command("REPLICAOF", "NO", "ONE")
    try prepare(scene.replica)

    var configuration = try RedisConfiguration(url: scene.replica.url)
    configuration.retryQuickly(label: "second")
    let second = try share(RedisStore(configuration, logger: journal.logger("second")).endingWithTest)
    try await second.status { !$0.isLoading && $0.loadError == nil }
    #expect(second.wrappedValue.text == before.text)
    async let ofFirst: Void = change(first, \.first, changes)
    async let ofSecond: Void = change(second, \.second, changes)
    _ = try await (ofFirst, ofSecond)
    scene.moveServices()
    let all: @Sendable (Document) -> Bool = { document in
      document.first.count == changes && document.second.count >= changes
    }
    for share in [first, second] { try await share.value(where: all) }
    try await first.load()
    try await second.load()
    #expect(first.wrappedValue == second.wrappedValue)
    let stored = try #require(try scene.replica.command("GET", "value").text)
    return (try JSONDecoder().decode(Document.self, from: Data(stored.utf8)), journal)
  }

  private func share(_ store: RedisStore) throws -> Shared<Document> {
    Shared(wrappedValue: Document(), .redis("value", store: store))
  }

  private func change(
    _ share: Shared<Document>,
    _ own: any WritableKeyPath<Document, [String: Int]> & Sendable,
    _ count: Int
  ) async throws {
    for number in 0..<count {
      if number.isMultiple(of: 2) {
        share.withLock {
          $0[keyPath: own]["\(number)"] = number
          $0.visits.value += 1
        }
        try await share.save()
      } else {
        try await share.updateAtomically {
          $0[keyPath: own]["\(number)"] = number
          $0.visits.value += 1
        }
      }
    }
  }

  // MARK: Back and forth

  /// What a service has acknowledged.
  private final class Acknowledged: Sendable {
    private let state = Mutex((numbers: [String: Int](), count: 0, hasEnded: false))

    /// The last number of each entry.
    var numbers: [String: Int] { state.withLock { $0.numbers } }
    var count: Int { state.withLock { $0.count } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    func note(_ number: Int, of entry: String) {
      state.withLock {
        $0.numbers[entry] = number
        $0.count += 1
      }
    }

    func end() { state.withLock { $0.hasEnded = true } }
  }

  @Test(
    "AcknowledgedSurvives: no acknowledged change is lost while the primary's role goes back and forth",
    arguments: [true, false]
  )
  func pingPong(isGraceful: Bool) async throws {
    let servers = try (0..<2).map { _ in try PrivateRedisServer(configuration: ["repl-diskless-sync-delay 0"]) }
    let address = try Forwarder(to: servers[0].port)
    try servers[1].command("REPLICAOF", "127.0.0.1", "\(servers[0].port)")
    let journal = Journal()
    let labels = ["first", "second"]
    let shares = try labels.map { label in
      var configuration = try RedisConfiguration(url: "redis://127.0.0.1:\(address.port)")
      configuration.retryQuickly(label: label)
      return try share(RedisStore(configuration, logger: journal.logger(label)).endingWithTest)
    }
    for share in shares { try await share.status { !$0.isLoading && $0.loadError == nil } }
    shares[0].withLock { $0.text = String(repeating: "x", count: 25 * 1_024) }
    try await shares[0].save()
    let acknowledged = labels.map { _ in Acknowledged() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      let paths: [any WritableKeyPath<Document, [String: Int]> & Sendable] = [\.first, \.second]
      for index in shares.indices {
        group.addTask {
          let own = acknowledged[index]
          for number in 1... {
            if own.hasEnded || Task.isCancelled { return }
            let entry = "\(number % 64)"
            shares[index].withLock { $0[keyPath: paths[index]][entry] = number }
            // Without an acknowledgement, nothing is promised.
            guard (try? await shares[index].save()) != nil else { continue }
            own.note(number, of: entry)
          }
        }
      }
      for turn in 0..<8 {
        let (primary, replica) = (servers[turn % 2], servers[(turn + 1) % 2])
        try await eventually("the replica is connected") {
          try replica.command("INFO", "replication").text?.contains("master_link_status:up") ?? false
        }
        // Some changes of this reign.
        let before = acknowledged.map(\.count)
        try await eventually("both services have changes acknowledged") {
          zip(acknowledged, before).allSatisfy { $0.count > $1 + Self.changesOfReign }
        }
        if isGraceful {
          try primary.command("FAILOVER")
          try await eventually("the replica takes over") {
            try replica.command("ROLE").elements.first?.text == "master"
          }
        } else {
          try replica.command("REPLICAOF", "NO", "ONE")
        }
        address.forward(to: replica.port)
        address.cut()
        if !isGraceful { try primary.command("REPLICAOF", "127.0.0.1", "\(replica.port)") }
      }
      for service in acknowledged { service.end() }
      try await group.waitForAll()
    }
    for share in shares { try await share.save() }
    try await eventually("both services have the same value") { shares[0].wrappedValue == shares[1].wrappedValue }
    let document = shares[0].wrappedValue
    for (numbers, stored) in zip(acknowledged, [document.first, document.second]) {
      let lost = numbers.numbers.filter { stored[$0.key] ?? 0 < $0.value }
      #expect(lost == [:])
    }
    #expect(journal.entries(Journal.unmerged) == [])
  }
}
