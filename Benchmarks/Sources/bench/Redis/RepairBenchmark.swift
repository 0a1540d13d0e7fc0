import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting

/// Measures the work of a server for services that compare all values periodically, and restore the values that it has
/// lost.
///
/// All figures are processor time of the server, minus that of an idle server.
struct RepairBenchmark {
  let isQuick: Bool

  /// How often all services reconnect to a server without data, and to one with all data, in turns.
  private static let restarts = 5

  private var names: Int { isQuick ? 10_000 : 100_000 }
  /// Each value, its meta, and the secret of the namespace.
  private var keys: Int { 2 * names + 1 }
  private var minute: Duration { .seconds(isQuick ? 12 : 60) }
  /// Long enough for all consequences of a restart to be over.
  private var settling: Duration { .seconds(isQuick ? 5 : 15) }

  func run() async throws -> [Row] {
    var rows: [Row] = []
    for services in [1, 3] { rows += try await run(services: services) }
    return rows
  }

  private func run(services: Int) async throws -> [Row] {
    let comparing = try await comparing(services: services)
    let restarts = try await restarts(services: services)
    let healing = restarts.map { $0.losing - $0.returning }.sorted()
    let note = "\(services) service\(services == 1 ? "" : "s")"
    let range = String(format: "%.2f to %.2f", healing[0], healing[healing.count - 1])
    return [
      row("comparing all, once", comparing, .atMost(1), note: note),
      row("minute after coming back to all", median(restarts.map(\.returning)), note: note),
      row("minute after coming back to nothing", median(restarts.map(\.losing)), note: note),
      row("healing and comparing in that minute", median(healing), .atMost(1), note: "\(note), \(range)"),
      Row(name: "time until all is back", figure: median(restarts.map(\.healed)), floor: nil, unit: "ms", note: note),
    ]
  }

  private func row(_ name: String, _ seconds: Double, _ target: Row.Target? = nil, note: String) -> Row {
    Row(name: name, figure: seconds, floor: nil, unit: "s", target: target, note: note)
  }

  /// The cost of one comparison of all values, measured during a minute in which each value is compared about four
  /// times.
  private func comparing(services: Int) async throws -> Double {
    let server = try PrivateRedisServer(.tcp, isPersistent: false)
    let fleet = try await fleet(services, on: server, comparingEvery: minute / 4)
    try await Task.sleep(for: minute / 4)
    let comparedBefore = try Self.keysRead(server)
    let busy = try await serverSeconds(server, in: minute)
    // A small value is summarized and read, each with its meta.
    let comparisons = Double(try Self.keysRead(server) - comparedBefore) / Double(4 * names * services)
    await fleet.shutdown()
    return (busy - (try await idleSeconds(server, in: minute))) / comparisons
  }

  /// The work of the server in the minute in which all services reconnect, when it has lost nothing, and when it has
  /// lost everything; and after how many milliseconds all values are restored. Each several times, in turns.
  ///
  /// Measured until all consequences of the restart are over. The values that were read then are compared a minute
  /// later.
  private func restarts(
    services: Int
  ) async throws -> [(returning: Double, losing: Double, healed: Double)] {
    let server = try PrivateRedisServer(.tcp, isPersistent: false)
    let fleet = try await fleet(services, on: server, comparingEvery: .seconds(60))
    var restarts: [(returning: Double, losing: Double, healed: Double)] = []
    for _ in 0..<Self.restarts {
      await fleet.lose(server)
      // The data that the last round has saved.
      try? FileManager.default.removeItem(at: server.folder.appendingPathComponent("dump.rdb"))
      try server.restart()
      let start = monotonicNanoseconds()
      let restarted = try server.processorSeconds()
      // The pause is long, because each query is a connection, which costs the server as much as ten restores.
      while try Self.keys(server) < keys { try await Task.sleep(for: .milliseconds(50)) }
      let healed = Double(monotonicNanoseconds() - start) / 1e6
      try await Task.sleep(for: settling - .milliseconds(healed))
      let losing = try server.processorSeconds() - restarted

      try server.command("SAVE")
      await fleet.lose(server)
      try server.restart()
      let returning = try await serverSeconds(server, in: settling)
      guard try Self.keys(server) == keys else { throw BenchmarkError.valuesMissing }
      restarts.append((returning, losing, healed))
    }
    await fleet.shutdown()
    let idle = try await idleSeconds(server, in: settling)
    return restarts.map { ($0.returning - idle, $0.losing - idle, $0.healed) }
  }

  private func fleet(
    _ services: Int,
    on server: PrivateRedisServer,
    comparingEvery interval: Duration
  ) async throws -> Fleet {
    try await Fleet(services: services, names: names, on: server) {
      $0.namespace = "repair:"
      $0.antiEntropyInterval = interval
    }
  }

  private static func keys(_ server: PrivateRedisServer) throws -> Int {
    guard case .integer(let keys) = try server.command("DBSIZE") else { return 0 }
    return Int(keys)
  }

  private func serverSeconds(_ server: PrivateRedisServer, in time: Duration) async throws -> Double {
    let before = try server.processorSeconds()
    try await Task.sleep(for: time)
    return try server.processorSeconds() - before
  }

  /// The work of an idle server in that time.
  private func idleSeconds(_ server: PrivateRedisServer, in time: Duration) async throws -> Double {
    try await serverSeconds(server, in: time / 4) * 4
  }

  /// How many keys, values and metas, were found by reads.
  private static func keysRead(_ server: PrivateRedisServer) throws -> Int {
    try Int(server.sum(of: ["keyspace_hits"], in: "stats"))
  }
}
