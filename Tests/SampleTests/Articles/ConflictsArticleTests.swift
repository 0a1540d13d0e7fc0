import Foundation
import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The article on conflicts", .timeLimit(.minutes(5)))
struct ConflictsArticleTests {
  struct CheckoutConfig: Codable, Sendable {
    var maximumItems = 10
    var currency = "CHF"
  }

  @Test("Concurrent changes of different fields are merged")
  func mergedFields() async throws {
    let server = InProcessRedis()
    let (store, other) = (RedisStore.inProcess(server), RedisStore.inProcess(server))
    defer { for store in [store, other] { store.stop() } }
    @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
    @Shared(.redis("checkout:config", store: other)) var copy = CheckoutConfig()
    try await $config.load()
    try await $copy.load()
    server.pause()
    $config.withLock { $0.maximumItems = 20 }
    $copy.withLock { $0.currency = "EUR" }
    server.resume()
    try await $config.updates.first(within: .seconds(10)) { $0.currency == "EUR" }
    try await $copy.updates.first(within: .seconds(10)) { $0.maximumItems == 20 }
    #expect(config.maximumItems == 20)
    #expect(copy.currency == "EUR")
  }

  @Test("A rejected change is returned with the error, and the share shows the stored value")
  func rejectedChange() async throws {
    let server = InProcessRedis()
    let (store, elsewhere) = (RedisStore.inProcess(server), RedisStore.inProcess(server))
    defer { for store in [store, elsewhere] { store.stop() } }
    let other = Shared(wrappedValue: CheckoutConfig(), .redis("checkout:config", store: elsewhere))
    try await other.save()
    var draft: Data?
    // The change is made before the store has read what the other service has saved.
    server.pause()
    try await withDependencies {
      $0.defaultRedisStore = store
    } operation: {
      @Shared(.redis("checkout:config", options: .init(conflict: .reject))) var config = CheckoutConfig()
      $config.withLock { $0.maximumItems = 20 }
      server.resume()
      do {
        try await $config.save()
      } catch let error as RedisSharedStateError where error.code == .conflict {
        let (mine, theirs) = error.conflictingDocuments
        print("Somebody else has changed the config: \(theirs == nil ? "it is gone" : "look at it again").")
        draft = mine
      }
      #expect(config.maximumItems == 10)
    }
    #expect(draft != nil)
  }
}
