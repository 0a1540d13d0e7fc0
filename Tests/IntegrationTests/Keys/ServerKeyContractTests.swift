@testable import RedisConnectionContract
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The contract of keys, on a real server", .timeLimit(.minutes(5)), .endsStores)
struct ServerKeyContractTests {
  @Test(
    "A key on a real server passes each check of the contract",
    arguments: SharedKeyContract<RedisSharedKey<Int>>.allChecks
  )
  func keyPassesCheck(check: SharedKeyContract<RedisSharedKey<Int>>) async throws {
    let server = try PrivateRedisServer(.unixSocket)
    var configuration = try RedisConfiguration(url: server.url)
    configuration.retryQuickly(label: "contract")
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    let outsider = try RedisConnectionContract.Server(url: server.url, namespace: "").outsider
    try await check.run(on: .init(values: [0, 1, 2, 3], outsider: outsider) { .redis($0, store: store) })
  }
}
