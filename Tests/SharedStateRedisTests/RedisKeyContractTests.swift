@testable import RedisConnectionContract
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The contract of keys, on the in-process server", .timeLimit(.minutes(5)))
struct RedisKeyContractTests {
  @Test("A Redis key passes each check", arguments: SharedKeyContract<RedisSharedKey<Int>>.allChecks)
  func passesCheck(check: SharedKeyContract<RedisSharedKey<Int>>) async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    defer { store.stop() }
    try await check.run(
      on: .init(values: [0, 1, 2, 3], outsider: server.contractServer("").outsider) { .redis($0, store: store) }
    )
  }
}
