import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting

/// Measures what a snapshot of 10,000 values costs: when it is written, and when a service starts without a server. The
/// floor is the same service without a snapshot. The two take turns.
struct SnapshotBenchmark {
  let isQuick: Bool

  private var rounds: Int { isQuick ? 1 : 5 }
  private var values: Int { isQuick ? 1_000 : 10_000 }

  private struct Value: Codable, Equatable, Sendable {
    var limit = 0
    var text = String(repeating: "x", count: 80)
  }

  /// The end of a service, in milliseconds.
  private struct End {
    var shutdown: Double
    /// Processor time of the whole process during the shutdown.
    var processor: Double
  }

  func run() async throws -> [Row] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "bench-snapshot-\(getpid())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = try PrivateRedisServer()
    _ = try await live(server.url, folder: nil, round: 0)
    var (writing, plain): ([End], [End]) = ([], [])
    for round in 1...rounds {
      plain.append(try await live(server.url, folder: nil, round: 2 * round))
      writing.append(try await live(server.url, folder: folder, round: 2 * round + 1))
    }
    let file = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).first
    let bytes = try file.map { try Data(contentsOf: $0).count } ?? 0
    server.stop()
    var (starting, cold): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
      cold.append(try await start(server.url, folder: nil))
      starting.append(try await start(server.url, folder: folder))
    }
    return [
      row(
        "shutdown, all \(values) values changed",
        writing.map(\.shutdown),
        plain.map(\.shutdown),
        "\(bytes >> 10) KiB"
      ),
      row("the same, processor time", writing.map(\.processor), plain.map(\.processor)),
      row("start and \(values) shares, without a server", starting, cold),
    ]
  }

  private func row(_ name: String, _ figures: [Double], _ floors: [Double], _ note: String = "") -> Row {
    Row(name: name, figure: median(figures), floor: median(floors), unit: "ms", note: note)
  }

  private func configuration(_ url: String, folder: URL?) throws -> RedisConfiguration {
    var configuration = try RedisConfiguration(url: "\(url)?namespace=bench:&label=flags")
    configuration.snapshot = folder.map { .folder($0) }
    return configuration
  }

  private func share(_ store: RedisStore) -> [Shared<Value>] {
    (0..<values).map { Shared(wrappedValue: Value(), .redis("value-\($0)", store: store)) }
  }

  /// A service that changes every value, and ends.
  private func live(_ url: String, folder: URL?, round: Int) async throws -> End {
    let store = RedisStore(try configuration(url, folder: folder))
    let shares = share(store)
    try await store.waitUntilConnected(within: .seconds(60))
    for share in shares { share.withLock { $0.limit = round } }
    try await store.flush(within: .seconds(60))
    let (flushed, processor) = (monotonicNanoseconds(), processNanoseconds())
    await store.shutdown(within: .seconds(60))
    let elapsed = (monotonicNanoseconds() - flushed, processNanoseconds() - processor)
    // Otherwise they are gone before the shutdown.
    withExtendedLifetime(shares) {}
    return End(shutdown: Double(elapsed.0) / 1_000_000, processor: Double(elapsed.1) / 1_000_000)
  }

  /// The time until a service without a server has its shares.
  private func start(_ url: String, folder: URL?) async throws -> Double {
    let begin = monotonicNanoseconds()
    let store = RedisStore(try configuration(url, folder: folder))
    let shares = share(store)
    let elapsed = monotonicNanoseconds() - begin
    consume(shares[0].wrappedValue.limit)
    store.stop()
    return Double(elapsed) / 1_000_000
  }
}
