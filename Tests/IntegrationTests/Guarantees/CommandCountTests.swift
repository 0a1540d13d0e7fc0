import Foundation
import SharedState
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

/// The number of threads that were started.
private final class Started: Sendable {
  let count = Atomic(0)
}

/// Counts do not depend on the machine, so that a design that asks more shows here at once.
@Suite(
  "Bounded: the commands that a server runs, and the threads that are started",
  .timeLimit(.minutes(5)),
  .endsStores
)
struct CommandCountTests {
  private typealias Document = String

  private static let names = (0..<1_000).map { "value:\($0)" }

  /// A document of 1 KiB.
  private static func document(_ number: Int) -> Document {
    String(repeating: "x", count: 1_014) + String(format: "%08d", number)
  }

  private func store(
    _ label: String,
    _ namespace: String,
    on backend: ServerBackend,
    _ way: Way = Way(),
    threads: ThreadStarter = .system
  ) throws -> RedisStore {
    try backend.store(label, way: way, threads: threads) {
      $0.namespace = namespace
      // Neither comparing nor keeping alive is what is counted here.
      $0.antiEntropyInterval = .seconds(86_400)
      $0.keepAliveInterval = .seconds(3_600)
    }
  }

  private func share(_ names: some Sequence<String>, in store: RedisStore) async throws -> [Shared<Document>] {
    let shares = names.map { Shared<Document>(wrappedValue: "", .redis($0, store: store)) }
    for share in shares { try await share.status { !$0.isLoading } }
    return shares
  }

  /// Changes every value of one service, and waits until all others show it.
  private func change(_ shares: [Shared<Document>], _ others: [[Shared<Document>]], to number: Int) async throws {
    let document = Self.document(number)
    for share in shares { share.withLock { $0 = document } }
    for others in others { for share in others { try await share.becomes(document) } }
  }

  @Test("Ten services start and propagate a thousand changes with few commands and threads", arguments: ["", "shop:"])
  func fanOut(namespace: String) async throws {
    let backend = try ServerBackend()
    let before = try backend.commands
    let started = Started()
    let threads = ThreadStarter { _ in
      started.count.add(1, ordering: .relaxed)
      return false
    }
    let stores = try (0..<10).map { try store("service\($0)", namespace, on: backend, threads: threads) }
    var shares: [[Shared<Document>]] = []
    for store in stores { shares.append(try await share(Self.names, in: store)) }
    try await change(shares[0], Array(shares.dropFirst()), to: 1)
    try await stores[0].flush(within: patience)
    #expect(try backend.commands - before <= 25_000)
    // For each store one that serves it, two that open its connections, and one for user code, which may have ended
    // until the change, or had to wait on a busy machine, so that there are further ones.
    #expect(started.count.load(ordering: .relaxed) <= 60)
  }

  @Test(
    "A service that receives a change sends no requests with a namespace and few without one",
    arguments: ["", "shop:"]
  )
  func heardChanges(namespace: String) async throws {
    let changes = 400
    let backend = try ServerBackend()
    let ways = (0..<4).map { _ in Way() }
    var shares: [[Shared<Document>]] = []
    for (number, way) in ways.enumerated() {
      let store = try store("service\(number)", namespace, on: backend, way)
      shares.append(try await share(Self.names.prefix(changes), in: store))
    }
    let before = ways.map(\.requestsSent)
    let start = ContinuousClock.now
    // One after the other, so that no service falls behind.
    for index in 0..<changes {
      try await change([shares[0][index]], shares.dropFirst().map { [$0[index]] }, to: 1)
    }
    // Without a namespace, the values that have changed are watched again together, once a second: so a busy machine
    // takes more requests for as many changes.
    let seconds = Double((ContinuousClock.now - start).components.seconds + 1)
    let most = namespace.isEmpty ? 0.05 * Double(changes) + 2 * seconds : 0
    for (way, before) in zip(ways, before).dropFirst() {
      // None of these requests is more than two commands.
      #expect(Double(2 * (way.requestsSent - before)) <= most)
    }
  }

  @Test("A service that writes a value all the time checks it once a second", arguments: ["", "shop:"])
  func ownChanges(namespace: String) async throws {
    let changes = 1_000
    let backend = try ServerBackend()
    let shares = try ["one", "other"].map {
      Shared<Int>(wrappedValue: 0, .redis("count", store: try store($0, namespace, on: backend)))
    }
    for share in shares { try await share.load() }
    let (before, start) = (try backend.commands, ContinuousClock.now)
    for number in 1...changes {
      shares[0].withLock { $0 = number }
      try await shares[0].save()
    }
    try await shares[1].becomes(changes)
    // The check takes two commands without a namespace, as the other service's request to be notified again does; and
    // each service asks for its facts.
    let seconds = (ContinuousClock.now - start).components.seconds + 2
    #expect(try backend.commands - before <= 8 * changes + 12 * Int(seconds))
  }

  @Test("Sharing a new value takes little more than one command", arguments: ["", "shop:"])
  func creation(namespace: String) async throws {
    let backend = try ServerBackend()
    let store = try store("service", namespace, on: backend)
    _ = try await share(["first"], in: store)
    let before = try backend.commands
    let names = (0..<5_000).map { "new:\($0)" }
    let shares = try await share(names, in: store)
    let perValue = Double(try backend.commands - before) / Double(shares.count)
    #expect(perValue <= 1.5)
  }
}
