import Dispatch
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
    let store = RedisStore.fromEnvironmentOrExit(metrics: metrics)
    let reports = reports(of: store)
    defer { reports.cancel() }
    let services = services(
      store: store,
      metrics: metrics,
      host: environment.get("HOST") ?? "127.0.0.1",
      port: environment.get("PORT", as: Int.self) ?? 8080
    )
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: services.map { service in
          // A cancelled group would not deliver what the others have changed.
          ServiceGroupConfiguration.ServiceConfiguration(
            service: service,
            successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup
          )
        },
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "flags-service")
      )
    )
    do {
      try await group.run()
    } catch RedisSharedStateError.Code.undelivered {
      exit(1)
    }
  }

  /// Logs what the store knows of each value whenever the process receives SIGUSR1.
  static func reports(of store: RedisStore) -> any DispatchSourceSignal {
    signal(SIGUSR1, SIG_IGN)
    let reports = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
    reports.setEventHandler { @Sendable in Logger(label: "report").notice("\(store.report())") }
    reports.resume()
    return reports
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
