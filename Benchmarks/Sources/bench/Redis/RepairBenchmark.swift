import Foundation
import SharedState
import SharedStateRedis
import SharedStateTesting

/// What the server has to do for services that compare everything once in a while, and give back what it has lost.
struct RepairBenchmark {
  let isQuick: Bool

  private var services: Int { isQuick ? 2 : 3 }
  private var names: Int { isQuick ? 10_000 : 100_000 }
  private var minute: Duration { .seconds(isQuick ? 20 : 60) }

  func run() async throws -> [Row] {
    let server = try PrivateRedisServer(.tcp, isPersistent: false)
    let fleet = try await Fleet(services: services, names: names, on: server) {
      $0.namespace = "repair:"
      $0.antiEntropy = minute
    }
    // What writing has caused is over.
    try await Task.sleep(for: minute / 4)

    let before = try Self.serverSeconds(server)
    try await Task.sleep(for: minute)
    let comparing = try Self.serverSeconds(server) - before

    await fleet.lose(server)
    try server.restart()
    let start = monotonicNanoseconds()
    let restarted = try Self.serverSeconds(server)
    while try Self.keys(server) < 2 * names { try await Task.sleep(for: .milliseconds(1)) }
    let healed = Double(monotonicNanoseconds() - start) / 1e6
    try await Task.sleep(for: minute - .milliseconds(healed))
    let healing = try Self.serverSeconds(server) - restarted
    await fleet.shutdown()
    let note = "\(services) services"
    return [
      Row(
        name: "comparing all",
        figure: comparing,
        floor: nil,
        unit: "s",
        target: .atMost(1),
        note: note
      ),
      Row(name: "giving all back, and comparing", figure: healing, floor: nil, unit: "s", target: .atMost(1)),
      Row(name: "time until all is back", figure: healed, floor: nil, unit: "ms"),
    ]
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
