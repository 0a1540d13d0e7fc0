import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting

/// Measures what a change costs the server for each service that shares the value.
///
/// The floor is PUBLISH to as many bare subscribers, with a payload of the same size. All figures are processor time of
/// the server, minus that of an idle server in the same time.
struct FanOutBenchmark {
  let isQuick: Bool

  private var services: Int { isQuick ? 20 : 200 }
  private var seconds: Int { isQuick ? 3 : 20 }
  private let changesPerSecond = 10
  private var changes: Int { seconds * changesPerSecond }

  func run() async throws -> [Row] {
    var rows: [Row] = []
    for length in [10, 4_000] {
      let floor = try await publishing(length)
      for namespace in ["", "fan:"] {
        let name = namespace.isEmpty ? "tracking key by key" : "tracking a namespace"
        let figure = try await changing(length, namespace: namespace)
        let note = "\(services) services, \(length) bytes"
        rows.append(Row(name: name, figure: figure, floor: floor, unit: "µs", target: .ratioAtMost(1.5), note: note))
      }
    }
    return rows
  }

  private func changing(_ length: Int, namespace: String) async throws -> Double {
    let server = try PrivateRedisServer(.tcp)
    let stores = try Fleet.stores(services, on: server) { $0.namespace = namespace }
    let shares = stores.map { Shared(wrappedValue: "", .redis("value", store: $0)) }
    for share in shares { try await share.load() }
    let figure = try await cost(server) { number in
      let text = String(format: "%08d", number) + String(repeating: "x", count: length - 10)
      shares[0].withLock { $0 = text }
    }
    for store in stores { await store.shutdown(within: .seconds(5)) }
    return figure
  }

  private func publishing(_ length: Int) async throws -> Double {
    let server = try PrivateRedisServer(.tcp)
    let port = Int32(server.url.split(separator: ":").last ?? "") ?? 0
    let subscribers = try (0..<services).map { _ in
      let subscriber = try BareRedis(host: Scene.host, port: port)
      try subscriber.subscribe(["channel"])
      return subscriber
    }
    let listening = subscribers.map { subscriber in
      Task { try await onThread { while true { try subscriber.reply() } } }
    }
    let publisher = try BareRedis(host: Scene.host, port: port)
    let text = String(repeating: "x", count: length)
    let figure = try await cost(server) { _ in try publisher.command("PUBLISH", "channel", text) }
    for subscriber in subscribers { subscriber.interrupt() }
    for listener in listening { _ = try? await listener.value }
    return figure
  }

  /// The server's microseconds for each change and service.
  private func cost(_ server: PrivateRedisServer, _ change: (Int) throws -> Void) async throws -> Double {
    let idle = try await server.processorSeconds { try await Task.sleep(for: .seconds(seconds)) }
    let busy = try await server.processorSeconds {
      for number in 0..<changes {
        try change(number)
        try await Task.sleep(for: .seconds(1) / changesPerSecond)
      }
    }
    return (busy - idle) * 1e6 / Double(changes * services)
  }
}
