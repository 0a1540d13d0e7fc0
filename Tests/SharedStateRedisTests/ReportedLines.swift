import Logging
import Metrics
import Synchronization

@testable import SharedStateRedis

/// Everything that a store reports of its configuration: lines of the log, and dimensions of metrics.
final class ReportedLines: Sendable {
  private let state = Mutex<[String]>([])

  private struct Handler: LogHandler {
    let lines: ReportedLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.add("\(event.message) \(event.metadata ?? [:])") }
  }

  /// Notes how the metrics are called, and counts nothing.
  private struct Factory: MetricsFactory {
    let lines: ReportedLines

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { note(label, dimensions) }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
      note(label, dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { note(label, dimensions) }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private func note(_ label: String, _ dimensions: [(String, String)]) -> NOOPMetricsHandler {
      lines.add("\(label) \(dimensions)")
      return .instance
    }
  }

  private func add(_ line: String) { state.withLock { $0.append(line) } }

  /// Reports what a store with this configuration reports while it connects, fails and ends.
  static func lines(of configuration: RedisConfiguration) -> [String] {
    let lines = ReportedLines()
    let metrics = StoreMetrics(
      Factory(lines: lines),
      label: configuration.label,
      namespace: configuration.namespace
    )
    let watch = LinkTelemetry(
      logger: Logger(label: "store") { _ in Handler(lines: lines) },
      server: configuration.location,
      endpoint: { .tcp(host: "10.0.0.1", port: 6379) },
      isInProcess: false,
      label: configuration.label,
      metrics: metrics
    )
    var session = Session(backoff: configuration.backoff)
    session.start()
    for error in [RedisSharedStateError.unreachable(reason: "no route"), .authenticationFailed] {
      _ = session.failed(epoch: session.epoch, error: error, now: .now, random: 0)
      watch.sessionChanged(session)
    }
    watch.tooFewReplicas(.notReplicated(name: "count", replicas: 1, .acknowledged(0)))
    watch.trackingFutile()
    watch.trackingSilent()
    watch.endedWithUndelivered(["count"])
    watch.shutDownWithUndelivered(["count"])
    metrics.publish(Measurements.Batch())
    return lines.state.withLock { $0 }
  }
}
