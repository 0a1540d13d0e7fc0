import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Tracked changes of values in Redis", .timeLimit(.minutes(5)), .endsStores)
struct TrackedChangesTests {
  @Test("A tracker records an atomic update even if it is the first use of the value", arguments: BackendKind.allCases)
  func atomicUpdate(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    let tracker = SharedChangeTracker()
    try await tracker.track {
      let count = Shared(wrappedValue: 0, .redis("count", store: store))
      try await count.updateAtomically { $0 = 5 }
      count.assert { $0 = 5 }
    }
  }

  @Test("A tracker records the first change by another service", arguments: BackendKind.allCases, [false, true])
  func remoteChange(kind: BackendKind, isStored: Bool) async throws {
    let backend = try kind.make()
    if isStored { try backend.set("count", "1") }
    let stores = try ["first", "second"].map { try backend.store($0) }
    let far = Shared(wrappedValue: 0, .redis("count", store: stores[1]))
    try await far.load()
    let tracker = SharedChangeTracker()
    try await tracker.track {
      let count = Shared(wrappedValue: 0, .redis("count", store: stores[0]))
      try await count.load()
      await Task.detached { far.withLock { $0 = 5 } }.value
      try await count.becomes(5)
      count.assert {
        #expect($0 == (isStored ? 1 : 0))
        $0 = 5
      }
    }
  }

  @Test("A tracker records no change for a value that was already stored", arguments: BackendKind.allCases)
  func stored(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("count", "1")
    let store = try backend.store()
    let tracker = SharedChangeTracker()
    try await tracker.track {
      let count = Shared(wrappedValue: 0, .redis("count", store: store))
      try await count.load()
      #expect(count.wrappedValue == 1)
    }
    #expect(!tracker.hasChanges)
  }
}
