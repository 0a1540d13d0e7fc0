import Foundation
import Glibc
import SharedState
import SharedStateRedis
import SharedStateRedisTesting

/// Measures many services with many values each, on one server that restarts.
struct HerdBenchmark {
  let isQuick: Bool

  private var services: Int { isQuick ? 20 : 200 }
  private var names: Int { isQuick ? 100 : 1_000 }

  func run() async throws -> [Row] {
    let server = try PrivateRedisServer(.tcp, isPersistent: true)
    let memoryBefore = Self.status("VmRSS")
    let fleet = try await Fleet(services: services, names: names, on: server) { $0.namespace = "herd:" }
    let memory = Double(Self.status("VmRSS") - memoryBefore) / 1_024
    let threads = Double(Self.status("Threads"))

    await fleet.lose(server)
    // One value has changed in the meantime.
    fleet.shares[1][0].withLock { $0 = 2 }
    try server.restart()
    let start = monotonicNanoseconds()
    for store in fleet.stores { try await store.waitUntilConnected(within: .seconds(120)) }
    let connected = Double(monotonicNanoseconds() - start) / 1e6
    for shares in fleet.shares { await shares[0].becomes(2) }
    // As long as there is an error, the value may be stale.
    for share in fleet.shares.joined() { while share.loadError != nil { try await Task.sleep(for: .milliseconds(1)) } }
    let converged = Double(monotonicNanoseconds() - start) / 1e6
    let reads = try Self.calls("mget", server)
    await fleet.shutdown()
    let note = "\(services) stores, \(names) values each"
    return [
      Row(name: "all are connected again", figure: connected, floor: nil, unit: "ms", note: note),
      Row(name: "all values are known to be up to date", figure: converged, floor: nil, unit: "ms"),
      Row(
        name: "reads of up to 1,024 values, for each store",
        figure: reads / Double(services),
        floor: nil,
        unit: "MGET"
      ),
      Row(name: "memory of all", figure: memory, floor: nil, unit: "MiB"),
      Row(name: "threads", figure: threads, floor: nil, unit: ""),
    ]
  }

  /// How often the server has run a command since it was started.
  private static func calls(_ command: String, _ server: PrivateRedisServer) throws -> Double {
    let statistics = try server.command("INFO", "commandstats").text ?? ""
    let line = statistics.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_\(command):") }
    let calls = line?.split(separator: "=").dropFirst().first?.prefix { $0.isNumber }
    return Double(calls ?? "") ?? 0
  }

  /// A number from the status of this process, in the kernel's unit.
  private static func status(_ name: String) -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
  }
}
