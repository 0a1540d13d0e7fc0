import Foundation
import SharedState
import SharedStateRedis
import SharedStateTesting

/// What the server has to do for services that compare everything once in a while, and give back what it has lost.
///
/// All figures are processor time of the server, without what it takes to do nothing.
struct RepairBenchmark {
  let isQuick: Bool

  /// How often everything is compared while that is measured.
  private static let comparisons = 4

  private var names: Int { isQuick ? 10_000 : 100_000 }
  private var minute: Duration { .seconds(isQuick ? 12 : 60) }
  /// Long enough for everything to be over that a restart causes.
  private var settling: Duration { .seconds(isQuick ? 8 : 20) }

  func run() async throws -> [Row] {
    var rows: [Row] = []
    for services in [1, 3] { rows += try await run(services: services) }
    return rows
  }

  private func run(services: Int) async throws -> [Row] {
    let comparing = try await comparing(services: services)
    let (returning, losing, healed) = try await healing(services: services)
    let note = "\(services) service\(services == 1 ? "" : "s")"
    return [
      row("comparing all, once", comparing, note: note),
      row("coming back to all", returning, note: note),
      row("coming back, and giving all back", losing, note: note),
      row("giving all back, and comparing", losing - returning + comparing, .atMost(1), note: note),
      Row(name: "time until all is back", figure: healed, floor: nil, unit: "ms", note: note),
    ]
  }

  private func row(_ name: String, _ seconds: Double, _ target: Row.Target? = nil, note: String) -> Row {
    Row(name: name, figure: seconds, floor: nil, unit: "s", target: target, note: note)
  }

  private func comparing(services: Int) async throws -> Double {
    let server = try PrivateRedisServer(.tcp, isPersistent: false)
    let fleet = try await fleet(services, on: server, comparingEvery: minute / Self.comparisons)
    try await Task.sleep(for: settling)
    let busy = try await serverSeconds(server, in: minute)
    await fleet.shutdown()
    return (busy - (try await idleSeconds(server, in: minute))) / Double(Self.comparisons)
  }

  /// What it takes to come back to a server that has lost nothing, and to one that has lost everything; and how many
  /// milliseconds later all is there again.
  private func healing(services: Int) async throws -> (returning: Double, losing: Double, healed: Double) {
    let server = try PrivateRedisServer(.tcp, isPersistent: false)
    let fleet = try await fleet(services, on: server, comparingEvery: .seconds(3_600))
    await fleet.lose(server)
    try server.restart()
    let start = monotonicNanoseconds()
    let restarted = try Self.serverSeconds(server)
    // Not more often: each question is a connection, which costs the server as much as ten restores.
    while try Self.keys(server) < 2 * names { try await Task.sleep(for: .milliseconds(50)) }
    let healed = Double(monotonicNanoseconds() - start) / 1e6
    try await Task.sleep(for: settling - .milliseconds(healed))
    let losing = try Self.serverSeconds(server) - restarted

    try server.command("SAVE")
    await fleet.lose(server)
    try server.restart()
    let returning = try await serverSeconds(server, in: settling)
    guard try Self.keys(server) == 2 * names else { throw BenchmarkError.valuesMissing }
    await fleet.shutdown()
    let idle = try await idleSeconds(server, in: settling)
    return (returning - idle, losing - idle, healed)
  }

  private func fleet(
    _ services: Int,
    on server: PrivateRedisServer,
    comparingEvery interval: Duration
  ) async throws -> Fleet {
    try await Fleet(services: services, names: names, on: server) {
      $0.namespace = "repair:"
      $0.antiEntropy = interval
    }
  }

  private static func keys(_ server: PrivateRedisServer) throws -> Int {
    guard case .integer(let keys) = try server.command("DBSIZE") else { return 0 }
    return Int(keys)
  }

  private func serverSeconds(_ server: PrivateRedisServer, in time: Duration) async throws -> Double {
    let before = try Self.serverSeconds(server)
    try await Task.sleep(for: time)
    return try Self.serverSeconds(server) - before
  }

  /// What the server does in that time when nobody uses it.
  private func idleSeconds(_ server: PrivateRedisServer, in time: Duration) async throws -> Double {
    try await serverSeconds(server, in: time / 4) * 4
  }

  /// The processor time of the server since it was started.
  private static func serverSeconds(_ server: PrivateRedisServer) throws -> Double {
    let statistics = try server.command("INFO", "cpu").text ?? ""
    let seconds = statistics.split(whereSeparator: \.isNewline)
      .filter { $0.hasPrefix("used_cpu_user:") || $0.hasPrefix("used_cpu_sys:") }
      .compactMap { $0.split(separator: ":").last.flatMap { Double($0) } }
    return seconds.reduce(0, +)
  }
}
