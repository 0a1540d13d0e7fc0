import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A key that is built on top of a key of Redis", .timeLimit(.minutes(5)))
struct ComposedKeyTests {
  /// A key that forwards everything to its base.
  private struct Forwarding: SharedKey {
    struct ID: Hashable {
      let base: RedisKeyID
    }

    let base: RedisSharedKey<Int>

    var id: ID { ID(base: base.id) }

    func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
      base.load(context: context, continuation: continuation)
    }

    func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
      base.subscribe(context: context, subscriber: subscriber)
    }

    func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
      base.save(value, context: context, continuation: continuation)
    }

    func reset(to initialValue: Int, continuation: SaveContinuation) {
      base.reset(to: initialValue, continuation: continuation)
    }
  }

  private let server = InProcessRedis()

  @Test("A composed key follows a change that is made while Redis is unreachable")
  func changedWhileAway() async throws {
    let store = RedisStore.inProcess(server)
    defer { store.stop() }
    let count = Shared(wrappedValue: 0, .redis("count", store: store))
    let composed = Shared(wrappedValue: 0, Forwarding(base: .redis("count", store: store)))
    try await composed.load()
    try await count.load()
    server.refuseConnections()
    try await waitUntil { count.loadError != nil }
    count.withLock { $0 = 5 }
    try await waitUntil { composed.wrappedValue == 5 }
  }

  @Test("A composed key deletes the stored value when it is reset")
  func reset() async throws {
    let store = RedisStore.inProcess(server)
    defer { store.stop() }
    let composed = Shared(wrappedValue: 0, Forwarding(base: .redis("count", store: store)))
    composed.withLock { $0 = 5 }
    try await composed.save()
    #expect(server.get("count") == "5")
    try await composed.reset()
    #expect(server.get("count") == nil)
    #expect(composed.wrappedValue == 0)
  }
}
