import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting

/// Measures the load on a server of services that all share the same ten values of 1 KB: while nothing changes, when
/// all connections are cut, and when the server restarts without data.
struct FleetBenchmark {
  let isQuick: Bool

  private var sizes: [Int] { isQuick ? [20] : [50, 200, 1_000] }
  private var idle: Duration { .seconds(isQuick ? 3 : 30) }
  private let names = 10

  func run() async throws -> [Row] {
    var rows: [Row] = []
    for size in sizes { rows += try await run(services: size) }
    return rows
  }

  private func run(services: Int) async throws -> [Row] {
    let server = try PrivateRedisServer(.tcp, isPersistent: false)
    let note = "\(services) services"
    let stores = try (0..<services).map { number in
      var configuration = try RedisConfiguration(url: server.url)
      configuration.label = "service\(number)"
      configuration.namespace = "fleet:"
      return RedisStore(configuration)
    }
    let shares = stores.map { store in
      (0..<names).map { Shared(wrappedValue: "", .redis("value\($0)", store: store)) }
    }
    let text = String(repeating: "x", count: 1_000)
    for share in shares[0] { share.withLock { $0 = text } }
    try await stores[0].flush(within: .seconds(60))
    for share in shares.joined() { while share.wrappedValue != text { try await Self.pause() } }
    // The consequences of the start are over by then.
    try await Task.sleep(for: .seconds(isQuick ? 2 : 5))

    let resting = try await server.processorSeconds { try await Task.sleep(for: idle) }
    var rows = [
      row("idle, for each service and minute", resting * 1_000 * (.seconds(60) / idle) / Double(services), "ms", note)
    ]
    let cut = try await comingBack(shares, to: server) {
      _ = try server.command("CLIENT", "KILL", "TYPE", "normal")
    }
    rows.append(row("a cut, until all values are known to be up to date", cut.seconds * 1_000, "ms", note))
    rows.append(row("a cut, for each service", cut.processor * 1e6 / Double(services), "µs", note))
    server.kill()
    try server.restart()
    let start = monotonicNanoseconds()
    try await upToDate(shares)
    let healed = Double(monotonicNanoseconds() - start) / 1e6
    rows.append(row("an empty restart, until all values are known to be up to date", healed, "ms", note))
    let processor = try server.processorSeconds() * 1e6 / Double(services)
    rows.append(row("an empty restart, for each service", processor, "µs", note))
    for store in stores { store.stop() }
    return rows
  }

  private func row(_ name: String, _ figure: Double, _ unit: String, _ note: String) -> Row {
    Row(name: name, figure: figure, floor: nil, unit: unit, note: note)
  }

  private func comingBack(
    _ shares: [[Shared<String>]],
    to server: PrivateRedisServer,
    after event: () throws -> Void
  ) async throws -> (seconds: Double, processor: Double) {
    let start = monotonicNanoseconds()
    let processor = try await server.processorSeconds {
      let before = try server.sum(of: ["total_connections_received"], in: "stats")
      try event()
      while try server.sum(of: ["total_connections_received"], in: "stats") < before + Double(2 * shares.count) {
        try await Task.sleep(for: .milliseconds(20))
      }
      try await upToDate(shares)
    }
    return (Double(monotonicNanoseconds() - start) / 1e9, processor)
  }

  /// Waits until no share has an error, because its value may be stale until then.
  private func upToDate(_ shares: [[Shared<String>]]) async throws {
    for share in shares.joined() { while share.loadError != nil { try await Self.pause() } }
  }

  private static func pause() async throws { try await Task.sleep(for: .milliseconds(1)) }
}
