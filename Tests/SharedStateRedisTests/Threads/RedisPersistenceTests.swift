@testable import SharedState
import SharedStateDependencies
import SharedStateRedisTesting
import Synchronization
import Testing

@testable import SharedStateRedis

/// Interactions between a share and its link in which a thread can be late.
@Suite("The persistence of a share in Redis", .timeLimit(.minutes(5)))
struct RedisPersistenceTests {
  private let error = RedisSharedStateError.disconnected(reason: "cut")

  private func make(
    _ store: RedisStore
  ) -> (box: ValueBox<Int>, persistence: RedisPersistence<RedisSharedKey<Int>>) {
    let key = RedisSharedKey<Int>("count", store: store, options: .init())
    let persistence = RedisPersistence(key: key, initialValue: 0)
    let box = ValueBox(0, persistence: persistence)
    persistence.start(box) {}
    return (box, persistence)
  }

  @Test("A status that arrives late does not replace a newer one")
  func lateStatus() {
    let store = RedisStore.inProcess()
    defer { store.stop() }
    let (box, persistence) = make(store)
    persistence.show(.loading(false), number: .max)
    persistence.show(.loading(true), number: .max - 1)
    persistence.show(.loadError(nil), number: .max)
    persistence.show(.loadError(error), number: .max - 1)
    persistence.show(.saveError(nil), number: .max)
    persistence.show(.saveError(error), number: .max - 1)
    #expect(!box.observedStatus.isLoading)
    #expect(box.observedStatus.loadError == nil)
    #expect(box.observedStatus.saveError == nil)
  }

  @Test("A notice that ends late does not end the newer one")
  func lateEndOfNotice() throws {
    let store = RedisStore.inProcess()
    defer { store.stop() }
    let (box, _) = make(store)
    let notice = try #require(box.mutationNotice)
    _ = box.snapshot { _ in }
    box.endMutationNotice(notice)
    let newer = try #require(box.mutationNotice)
    box.endMutationNotice(newer)
    #expect(box.mutationNotice == nil)
  }

  @Test("Saving after a shutdown throws an error and does not keep the store alive", .timeLimit(.minutes(5)))
  func saveAfterShutdown() async throws {
    weak var kept: RedisStore?
    do {
      let store = RedisStore.inProcess()
      kept = store
      let count = Shared(wrappedValue: 0, .redis("count", store: store))
      await store.shutdown(within: .seconds(30))
      await #expect(throws: RedisSharedStateError.stopped) { try await count.save() }
    }
    // A thread of the link that is about to end may release the last share.
    while kept != nil { try await Task.sleep(for: .milliseconds(1)) }
    #expect(kept == nil)
  }

  @Test("The default store of a test with the dependencies trait stops when the test ends")
  func defaultStoreEnds() async throws {
    let test = try #require(Test.current)
    let kept = Mutex<RedisStore?>(nil)
    try await DependencyValues.withInForce(DependencyValues(cache: nil)) {
      let trait: DependenciesTrait = .dependencies
      try await trait.provideScope(for: test, testCase: nil) {
        @Dependency(\.defaultRedisStore) var store
        kept.withLock { $0 = store }
        @Shared(.redis("count")) var count = 0
        try await $count.load()
        #expect(store.status == .inProcess)
      }
    }
    #expect(kept.withLock { $0?.status } == .stopped)
  }

  @Test(
    "PendingSurvives: a value that cannot be sent does not make a flush give up the others",
    .timeLimit(.minutes(5))
  )
  func flushWaitsForAll() async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    defer { store.stop() }
    let tooLarge = Shared(wrappedValue: "", .redis("large", store: store, options: .init(maximumBytes: 4)))
    // These are more values than one batch holds, so many are unsent when the first failure is known.
    let counts = (0..<600).map { Shared(wrappedValue: 0, .redis("count\($0)", store: store)) }
    try await tooLarge.load()
    server.refuseConnections()
    try await eventually("the end of the connection") { store.status != .inProcess }
    tooLarge.withLock { $0 = "too large" }
    for count in counts { count.withLock { $0 = 1 } }
    let flush = Task.immediate { try await store.flush(within: .seconds(30)) }
    server.acceptConnections()
    await #expect(throws: RedisSharedStateError.changesGivenUp(names: ["large"], further: 0)) {
      try await flush.value
    }
    #expect(counts.indices.allSatisfy { server.get("count\($0)") == "1" })
    #expect(tooLarge.saveError as? RedisSharedStateError == .valueTooLarge(name: "large", bytes: 11, maximumBytes: 4))
    #expect(store.pendingChanges == 0)
  }
}
