import SharedState
import SharedStateRedis
import SharedStateTesting
import Testing

@Suite("Keys of the in-process server keep the contract of keys", .timeLimit(.minutes(2)))
struct RedisKeyContractTests {
  @Test(arguments: SharedKeyContract<RedisSharedKey<Int>>.allChecks)
  func `keeps its promise`(check: SharedKeyContract<RedisSharedKey<Int>>) async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    // `RedisSharedKey.save(_:context:continuation:)` makes a share whose default is the value, which then merges as no
    // change when something is stored already.
    try await withKnownIssue {
      try await check.run(
        on: .init(values: [0, 1, 2, 3], outsider: server.contractServer("").outsider) { .redis($0, store: store) }
      )
    } when: {
      check.name == "a save is answered once, and what was saved is loaded"
    }
  }
}
