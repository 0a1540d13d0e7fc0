import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("Converges", .timeLimit(.minutes(5)), .endsStores)
struct ConvergesTests {
  @Test("Services that write concurrently all end up with the value in Redis", arguments: BackendKind.allCases)
  func manyWriters(kind: BackendKind) async throws {
    let backend = try kind.make()
    let stores = try (1...4).map { try backend.store("service\($0)") }
    let names = (1...8).map { "limits:\($0)" }
    let shares = stores.map { store in names.map { Shared(wrappedValue: Limits(), .redis($0, store: store)) } }
    await withTaskGroup(of: Void.self) { group in
      for (service, shares) in shares.enumerated() {
        group.addTask {
          var random = SystemRandomNumberGenerator()
          for round in 0..<200 {
            let share = shares[Int.random(in: 0..<shares.count, using: &random)]
            share.withLock { $0 = Limits(maximum: round, note: "service \(service)") }
            if round.isMultiple(of: 16) { await Task.yield() }
          }
        }
        group.addTask {
          // Connections break meanwhile.
          for _ in 0..<10 {
            try? backend.cut(Bool.random() ? .writer : .subscriber, of: "service\(service + 1)")
            try? await stores[service].isUp()
          }
        }
      }
    }
    try await expectAgreement(of: stores, shares, names, backend)
  }

  @Test("Large values are announced by reference, and other services read them", arguments: BackendKind.allCases)
  func largeValues(kind: BackendKind) async throws {
    let backend = try kind.make()
    let ways = [Way(), Way()]
    let stores = try (0...1).map { try backend.store("service\($0)", way: ways[$0]) }
    let shares = stores.map { [Shared(wrappedValue: Limits(), .redis("large", store: $0))] }
    for share in shares { try await share[0].load() }
    for round in 1...20 {
      let text = String(repeating: "\(round % 10)", count: 50_000)
      shares[round % 2][0].withLock { $0 = Limits(maximum: round, note: text) }
      try await stores[round % 2].flush(within: patience)
      try await shares[(round + 1) % 2][0].value { $0.maximum == round && $0.note == text }
    }
    // Each service has read ten of the values.
    for way in ways { #expect(way.bytesRead >= 500_000) }
    try await expectAgreement(of: stores, shares, ["large"], backend)
  }

  @Test("Services in another database or namespace receive no changes", arguments: BackendKind.allCases)
  func isolation(kind: BackendKind) async throws {
    let backend = try kind.make()
    let here = try backend.store("here") { $0.namespace = "here:" }
    let peer = try backend.store("peer") { $0.namespace = "here:" }
    var others = [try backend.store("there") { $0.namespace = "there:" }]
    if let server = (backend as? ServerBackend)?.server {
      var configuration = try RedisConfiguration(url: server.url + "/1")
      configuration.retryQuickly(label: "elsewhere")
      configuration.namespace = "here:"
      others.append(RedisStore(configuration, logger: quiet).endingWithTest)
    }
    @Shared(.redis("count", store: here)) var one = 0
    @Shared(.redis("count", store: peer)) var peers = 0
    let neighbours = others.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    for share in [$one, $peers] + neighbours { try await share.load() }
    let shown = Mutex<[Int]>([])
    let watching = Task { [$one] in
      for await value in $one.updates {
        // A change at the wrong moment may be returned twice.
        shown.withLock { if $0.last != value { $0.append(value) } }
      }
    }
    defer { watching.cancel() }
    try await eventually("the watching has begun") { shown.withLock { $0 } == [0] }
    $one.withLock { $0 = 1 }
    try await $one.save()
    try await $peers.becomes(1)
    try await eventually("the own change is shown") { shown.withLock { $0.last } == 1 }
    for share in neighbours {
      share.withLock { $0 = 2 }
      try await share.save()
    }
    #expect(try backend.get("here:count") == "1")
    #expect(try backend.get("there:count") == "2")
    // Once this change is shown, all earlier messages have arrived.
    $peers.withLock { $0 = 3 }
    try await $peers.save()
    try await eventually("the last change is shown") { shown.withLock { $0.last } == 3 }
    #expect(shown.withLock { $0 } == [0, 1, 3])
    #expect(neighbours.allSatisfy { $0.wrappedValue == 2 })
  }

  /// Checks that every box equals the value in Redis once writes have stopped and every store is connected.
  private func expectAgreement(
    of stores: [RedisStore],
    _ shares: [[Shared<Limits>]],
    _ names: [String],
    _ backend: any Backend
  ) async throws {
    for store in stores {
      try await store.isUp()
      try await store.flush(within: patience)
    }
    for (index, name) in names.enumerated() {
      let document = try #require(try backend.get(name))
      let stored = try JSONDecoder().decode(Limits.self, from: Data(document.utf8))
      for shares in shares { try await shares[index].becomes(stored) }
    }
  }
}
