import Metrics
import MetricsTestKit
import SharedStateRedis
import SharedStateTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WatchingArticleTests {
  /// Not run, because it depends on the environment of the test run.
  private func makeStore(_ metrics: any MetricsFactory) throws -> RedisStore {
    let store = try RedisStore.fromEnvironment(metrics: metrics)
    return store
  }

  @Test func aStoreUsesTheFactoryThatItIsGiven() async throws {
    let metrics = TestMetrics()
    let store = RedisStore.inProcess(metrics: metrics)
    let config = Shared(wrappedValue: 0, .redis("config", store: store))
    try await config.save()
    try await eventually("the commit is counted") { metrics.counterTotal(label: "shared_state_commits") == 1 }
    await store.shutdown(within: .seconds(5))
  }
}
