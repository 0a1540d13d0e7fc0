import Dispatch
import Foundation
import Metrics
import MetricsTestKit
import SharedStateRedis
import SharedStateTesting
import Testing

@Suite("The article on metrics and traces", .timeLimit(.minutes(5)))
struct WatchingArticleTests {
  /// Not run, because it depends on the environment of the test run.
  private func makeStore(_ metrics: any MetricsFactory) -> RedisStore {
    let store = RedisStore.fromEnvironmentOrExit(metrics: metrics)
    return store
  }

  /// Not run, because it changes what the whole process does at a signal. `Examples/flags-service` does the same, and its
  /// test sends the signal.
  private func printReports(of store: RedisStore) {
    signal(SIGUSR1, SIG_IGN)
    let reports = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
    reports.setEventHandler { @Sendable in print(store.report()) }
    reports.resume()
    _ = reports
  }

  @Test("A store counts its commits in the metrics factory that it is given")
  func givenMetricsFactory() async throws {
    let metrics = TestMetrics()
    let store = RedisStore.inProcess(metrics: metrics)
    let config = Shared(wrappedValue: 0, .redis("config", store: store))
    try await config.save()
    try await eventually("the commit is counted") { metrics.counterTotal(label: "shared_state_commits") == 1 }
    await store.shutdown(within: .seconds(5))
  }
}
