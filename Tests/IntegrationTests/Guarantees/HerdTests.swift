import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A server that restarts under many services", .timeLimit(.minutes(5)), .endsStores)
struct HerdTests {
  private static let services = 20
  private static let names = (0..<40).map { "value:\($0)" }

  @Test(
    "Converges: all services reconnect, and each reads its values once, and announced values once more",
    arguments: BackendKind.allCases
  )
  func restart(kind: BackendKind) async throws {
    let backend = try kind.make()
    let ways = (0..<Self.services).map { _ in Way() }
    // Anti-entropy must not read values again during the test.
    let stores = try ways.enumerated().map { number, way in
      try backend.store("service\(number)", way: way) { $0.antiEntropyInterval = .seconds(86_400) }
    }
    // With tracking, the stores would read every changed value as well.
    let options = RedisSharedKey<Int>.Options(detectsForeignEdits: false)
    let shares = stores.map { store in
      Self.names.map { Shared(wrappedValue: 0, .redis($0, store: store, options: options)) }
    }
    for (index, share) in shares[0].enumerated() { share.withLock { $0 = index + 1 } }
    try await stores[0].flush(within: patience)
    for shares in shares {
      for (index, share) in shares.enumerated() { try await share.becomes(index + 1) }
    }

    // Loading waits until the announced values are confirmed.
    for shares in shares { for share in shares { try await share.load() } }

    let before = ways.map { (summaries: $0.keysRead, documents: $0.documentsRead) }
    try backend.goDown()
    for store in stores { try await store.isDown() }
    shares[1][0].withLock { $0 = -1 }
    try backend.comeBack()
    for store in stores { try await store.isUp() }
    for shares in shares {
      try await shares[0].becomes(-1)
      for share in shares { try await share.status { $0.loadError == nil } }
    }
    for (way, before) in zip(ways, before) {
      let (summaries, documents) = (way.keysRead - before.summaries, way.documentsRead - before.documents)
      #expect((Self.names.count...Self.names.count + 1).contains(summaries))
      #expect((Self.names.count...Self.names.count + 1).contains(documents))
    }
  }
}
