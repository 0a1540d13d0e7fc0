import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting

/// Measures a thousand changes of 1 KiB that ten services in this process share.
///
/// The floor is PUBLISH to as many bare subscribers, each with a thread that waits for every message. All figures are
/// for one delivery: one change in one service.
struct DeliveriesBenchmark {
  let isQuick: Bool

  private let services = 10
  private let names = (0..<1_000).map { "value:\($0)" }
  private var rounds: Int { isQuick ? 1 : 5 }
  private let document = String(repeating: "x", count: 1_014)

  private struct Figures {
    var elapsed: [Double] = []
    var process: [Double] = []
    var server: [Double] = []
  }

  func run() async throws -> [Row] {
    let floor = try await publishing()
    var rows: [Row] = []
    for namespace in ["", "ten:"] {
      let figures = try await changing(namespace)
      let note = namespace.isEmpty ? "tracking key by key" : "tracking a namespace"
      for (name, path, limit) in [
        ("elapsed", \Figures.elapsed, Row.Target?.none), ("processor time of this process", \.process, .atMost(20)),
        ("processor time of the server", \.server, nil),
      ] {
        let (figure, floor) = (median(figures[keyPath: path]), median(floor[keyPath: path]))
        rows.append(Row(name: name, figure: figure, floor: floor, unit: "µs", target: limit, note: note))
      }
    }
    return rows
  }

  private func changing(_ namespace: String) async throws -> Figures {
    let server = try PrivateRedisServer(.tcp)
    let stores = try Fleet.stores(services, on: server) { $0.namespace = namespace }
    let shares = stores.map { store in names.map { Shared(wrappedValue: "", .redis($0, store: store)) } }
    for share in shares.joined() { try await share.load() }
    var figures = Figures()
    for round in 0..<rounds {
      let document = document + String(format: "%08d", round)
      try await measure(&figures, server) {
        for share in shares[0] { share.withLock { $0 = document } }
        for share in shares.joined() {
          while share.wrappedValue != document { try await Task.sleep(for: .microseconds(200)) }
        }
      }
    }
    for store in stores { await store.shutdown(within: .seconds(5)) }
    return figures
  }

  private func publishing() async throws -> Figures {
    let server = try PrivateRedisServer(.tcp)
    let port = Int32(server.url.split(separator: ":").last ?? "") ?? 0
    let subscribers = try (0..<services).map { _ in
      let subscriber = try BareRedis(host: Scene.host, port: port)
      try subscriber.subscribe(names)
      return subscriber
    }
    let publisher = try BareRedis(host: Scene.host, port: port)
    var figures = Figures()
    for _ in 0..<rounds {
      try await measure(&figures, server) {
        let listening = subscribers.map { subscriber in
          Task { try await onThread { for _ in names { try subscriber.reply() } } }
        }
        for name in names {
          try publisher.append(BareCommand(["PUBLISH", name, document].map { Array($0.utf8) }))
        }
        for _ in names { try publisher.reply() }
        for listener in listening { try await listener.value }
      }
    }
    return figures
  }

  private func measure(
    _ figures: inout Figures,
    _ server: PrivateRedisServer,
    _ body: () async throws -> Void
  ) async throws {
    let (start, processStart) = (monotonicNanoseconds(), processNanoseconds())
    let serverSeconds = try await server.processorSeconds { try await body() }
    let deliveries = Double(services * names.count)
    figures.elapsed.append(Double(monotonicNanoseconds() - start) / 1_000 / deliveries)
    figures.process.append(Double(processNanoseconds() - processStart) / 1_000 / deliveries)
    figures.server.append(serverSeconds * 1e6 / deliveries)
  }
}
