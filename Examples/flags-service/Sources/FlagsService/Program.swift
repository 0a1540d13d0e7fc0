import Foundation
import Hummingbird
import Logging
import ServiceLifecycle
import SharedStateRedis
import SharedStateServiceLifecycle

@main
struct Program {
  static func main() async throws {
    let environment = Environment()
    let metrics = PrometheusMetrics()
    let group = ServiceGroup(
      services: services(
        store: try RedisStore.fromEnvironment(requireServer: true, metrics: metrics),
        metrics: metrics,
        host: environment.get("HOST") ?? "127.0.0.1",
        port: environment.get("PORT", as: Int.self) ?? 8080
      ),
      gracefulShutdownSignals: [.sigterm, .sigint],
      logger: Logger(label: "flags-service")
    )
    do {
      try await group.run()
    } catch RedisSharedStateError.Code.undelivered {
      exit(1)
    }
  }

  /// The store comes first, so that it ends last and delivers what the last requests have changed.
  ///
  /// - Parameter onListening: Called with the port, which the system chooses if it is to be 0.
  static func services(
    store: RedisStore,
    metrics: PrometheusMetrics,
    host: String,
    port: Int,
    onListening: @escaping @Sendable (Int) -> Void = { _ in }
  ) -> [any Service] {
    let server = Application(
      router: Routes(store: store, metrics: metrics).router,
      configuration: .init(address: .hostname(host, port: port)),
      onServerRunning: { onListening($0.localAddress?.port ?? port) }
    )
    return [store, server]
  }
}
