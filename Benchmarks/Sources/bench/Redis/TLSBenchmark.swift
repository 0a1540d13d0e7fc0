import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting

/// Measures what TLS adds, with the same server and the same library on plain TCP as the floor. The two take turns.
struct TLSBenchmark {
  let isQuick: Bool

  private var rounds: Int { isQuick ? 3 : 21 }
  private var commands: Int { isQuick ? 100 : 1_000 }

  /// A server, and what is connected to it.
  private struct Way {
    let server: PrivateRedisServer
    let store: RedisStore
    let connection: CommandConnection

    init(_ security: PrivateRedisServer.Security?) throws {
      server = try PrivateRedisServer(security: security)
      let configuration = try RedisConfiguration(url: server.url)
      store = RedisStore(configuration)
      guard let endpoint = configuration.location.endpoint else { throw BenchmarkError.noAddress }
      var deadline = Instant.now + .seconds(10)
      connection = try CommandConnection(to: endpoint, configuration.makeDialer(), as: nil, until: &deadline)
    }
  }

  private struct Figures {
    var elapsed: [Double] = []
    var processor: [Double] = []
  }

  func run() async throws -> [Row] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "bench-tls-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (plain, secured) = (try Way(nil), try Way(try Self.security(in: folder)))
    var rows: [Row] = []
    for bytes in [100, 8_192] {
      let name = bytes == 100 ? "100 B" : "8 KiB"
      let (floor, figures) = try exchange(bytes, plain, secured)
      rows += [
        row("SET of \(name), round trip", figures, floor, \.elapsed, bytes == 100 ? 60 : nil),
        row("SET of \(name), processor time of the client", figures, floor, \.processor, bytes == 100 ? nil : 8),
      ]
    }
    let (floor, figures) = try await save(plain, secured)
    rows.append(row("save() of 100 B", figures, floor, \.elapsed, 60))
    for way in [plain, secured] { await way.store.shutdown(within: .seconds(5)) }
    return rows
  }

  private func row(
    _ name: String,
    _ figures: Figures,
    _ floor: Figures,
    _ figure: KeyPath<Figures, [Double]>,
    _ limit: Double?
  ) -> Row {
    let (figure, floor) = (median(figures[keyPath: figure]), median(floor[keyPath: figure]))
    let target = limit.map { Row.Target.atMost(floor + $0) }
    return Row(name: name, figure: figure, floor: floor, unit: "µs", target: target, note: "the floor is plain TCP")
  }

  /// One command after the other on one connection, which is what TLS itself costs.
  private func exchange(_ bytes: Int, _ plain: Way, _ secured: Way) throws -> (floor: Figures, Figures) {
    let command = ["SET", "key", String(repeating: "x", count: bytes)].map { Data($0.utf8) }
    var (floor, figures) = (Figures(), Figures())
    for _ in 0..<rounds {
      try exchange(command, plain, into: &floor)
      try exchange(command, secured, into: &figures)
    }
    return (floor, figures)
  }

  private func exchange(_ command: [Data], _ way: Way, into figures: inout Figures) throws {
    let (processor, start) = (threadNanoseconds(), monotonicNanoseconds())
    for _ in 0..<commands {
      let isSet = try way.connection.ask(command, until: .now + .seconds(10)) { $0.isEqual(to: "OK") }
      guard isSet else { throw BenchmarkError.refused("SET") }
    }
    let count = Double(commands) * 1_000
    figures.elapsed.append(Double(monotonicNanoseconds() - start) / count)
    figures.processor.append(Double(threadNanoseconds() - processor) / count)
  }

  /// One save after the other, with the pauses that let all threads go to sleep.
  private func save(_ plain: Way, _ secured: Way) async throws -> (floor: Figures, Figures) {
    let text = String(repeating: "x", count: 90)
    let shares = [plain, secured].map { Shared(wrappedValue: "", .redis("text", store: $0.store)) }
    var figures = [Figures(), Figures()]
    for share in shares { try await share.load() }
    for round in 0..<rounds {
      for (index, share) in shares.enumerated() {
        var (samples, pacer) = (Samples(), Pacer())
        for number in 0..<(commands / 10) {
          let start = monotonicNanoseconds()
          share.withLock { $0 = "\(round) \(number) \(text)" }
          try await share.save()
          samples.append(monotonicNanoseconds() - start)
          pacer.pause()
        }
        if let middle = samples.percentile(50) { figures[index].elapsed.append(middle) }
      }
    }
    return (figures[0], figures[1])
  }

  /// Makes a certificate that vouches for itself.
  private static func security(in folder: URL) throws -> PrivateRedisServer.Security {
    let (certificate, key) = (folder.appending(path: "certificate.pem").path, folder.appending(path: "key.pem").path)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchmarkError.noCertificate }
    return .init(authority: certificate, identity: .init(certificate: certificate, key: key))
  }
}
