import Foundation
import SharedState
import SharedStateRedis
import SharedStateTesting

/// What the server has to do for services that compare everything once in a while, and give back what it has lost.
struct RepairBenchmark {
  let isQuick: Bool

  private var names: Int { isQuick ? 10_000 : 100_000 }
  private var minute: Duration { .seconds(isQuick ? 20 : 60) }

  func run() async throws -> [Row] {
    var rows: [Row] = []
    for services in [1, 3] { rows += try await run(services: services) }
    return rows
  }

  private func run(services: Int) async throws -> [Row] {
    let server = try PrivateRedisServer(.tcp, isPersistent: false)
    let fleet = try await Fleet(services: services, names: names, on: server) {
      $0.namespace = "repair:"
      $0.antiEntropy = minute
    }
    // What writing has caused is over.
    try await Task.sleep(for: minute / 4)

    let comparing = try await serverSecondsInAMinute(server)

    await fleet.lose(server)
    try server.restart()
    let start = monotonicNanoseconds()
    let restarted = try Self.serverSeconds(server)
    while try Self.keys(server) < 2 * names { try await Task.sleep(for: .milliseconds(1)) }
    let healed = Double(monotonicNanoseconds() - start) / 1e6
    try await Task.sleep(for: minute - .milliseconds(healed))
    let losing = try Self.serverSeconds(server) - restarted

    // The same with a server that has lost nothing: what coming back costs anyhow.
    try server.command("SAVE")
    await fleet.lose(server)
    try server.restart()
    let returning = try await serverSecondsInAMinute(server)
    guard try Self.keys(server) == 2 * names else { throw BenchmarkError.valuesMissing }
    await fleet.shutdown()
    let note = "\(services) service\(services == 1 ? "" : "s")"
    return [
      row("comparing all", comparing, .atMost(1), note: note),
      row("coming back to all, and comparing", returning, note: note),
      row("coming back, giving all back, and comparing", losing, note: note),
      row("giving all back, and comparing", losing - returning + comparing, .atMost(1), note: note),
      Row(name: "time until all is back", figure: healed, floor: nil, unit: "ms", note: note),
    ]
  }

  private func row(_ name: String, _ seconds: Double, _ target: Row.Target? = nil, note: String) -> Row {
    Row(name: name, figure: seconds, floor: nil, unit: "s", target: target, note: note)
  }

  private func serverSecondsInAMinute(_ server: PrivateRedisServer) async throws -> Double {
    let before = try Self.serverSeconds(server)
    try await Task.sleep(for: minute)
    return try Self.serverSeconds(server) - before
  }

  private static func keys(_ server: PrivateRedisServer) throws -> Int {
    guard case .integer(let keys) = try server.command("DBSIZE") else { return 0 }
    return Int(keys)
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
