import Foundation
import Metrics
import Synchronization

/// The metrics of one store. Their dimensions are the label of the service and the namespace, so that two stores of a
/// program can be distinguished. No dimension holds the name of a value: there may be very many.
final class StoreMetrics: Sendable {
  private struct Instruments: Sendable {
    let commits: Counter
    let conflicts: Counter
    let merges: Counter
    let retries: Counter
    let decodeFailures: Counter
    let bytesSent: Counter
    let bytesReceived: Counter
    let pendingValues: Gauge
    let isStale: Gauge
    let commitTimes: Metrics.Timer
    let replayTimes: Metrics.Timer
  }

  private static let prefix = "shared_state_"

  private let given: (any MetricsFactory)?
  private let dimensions: [(String, String)]
  /// The bytes that were not published yet.
  let traffic: Traffic
  /// `nil` until something is published.
  private let instruments = Mutex<Instruments?>(nil)

  /// - Parameters:
  ///   - factory: Makes the metrics; `nil`: the program's own factory, once it has set one.
  ///   - label: The name of this service on the server.
  ///   - traffic: Counts the bytes of the store's connections.
  init(_ factory: (any MetricsFactory)?, label: String, namespace: String, traffic: Traffic = Traffic()) {
    given = factory
    dimensions = [("label", label), ("namespace", namespace)]
    self.traffic = traffic
  }

  /// Whether what is published goes anywhere. A program may set its factory after the store is made.
  var hasBackEnd: Bool { !((given ?? MetricsSystem.factory) is NOOPMetricsHandler) }

  /// Counts one event.
  func count(_ name: String) { counter(name).increment() }

  /// Publishes a report, and the bytes. Not called again before it has returned.
  func publish(_ report: Measurements.Batch) {
    let instruments = instruments.withLock(\.self) ?? makeInstruments()
    let bytes = traffic.take()
    let counts = [
      (instruments.commits, report.commits),
      (instruments.conflicts, report.conflicts),
      (instruments.merges, report.merges),
      (instruments.retries, report.retries),
      (instruments.decodeFailures, report.decodeFailures),
      (instruments.bytesSent, bytes.sent),
      (instruments.bytesReceived, bytes.received),
    ]
    for (counter, count) in counts where count > 0 { counter.increment(by: count) }
    instruments.pendingValues.record(report.pendingValues)
    instruments.isStale.record(report.isStale ? 1 : 0)
    for certificate in report.certificates {
      // A moment, which stays true between two reports.
      gauge("certificate_expires_seconds", [("certificate", certificate.holder.rawValue)])
        .record(certificate.expires.timeIntervalSince1970)
    }
    for time in report.commitTimes { instruments.commitTimes.record(duration: time) }
    guard !report.delivered.isEmpty else { return }
    let now = Date.now.timeIntervalSince1970
    for revision in report.delivered {
      // The server's clock may be ahead of this one.
      instruments.replayTimes.record(duration: .seconds(max(0, now - Double(revision.rawValue) / 1e6)))
    }
  }

  /// Makes the counters, too, so that one that never counts is published as zero.
  private func makeInstruments() -> Instruments {
    // Without the lock, because a factory is user code.
    let made = Instruments(
      commits: counter("commits"),
      conflicts: counter("conflicts"),
      merges: counter("merges"),
      retries: counter("retries"),
      decodeFailures: counter("decode_failures"),
      bytesSent: counter("bytes_sent"),
      bytesReceived: counter("bytes_received"),
      pendingValues: gauge("pending_values"),
      isStale: gauge("stale"),
      commitTimes: timer("commit_seconds"),
      replayTimes: timer("replay_seconds")
    )
    instruments.withLock { $0 = made }
    return made
  }

  private var factory: any MetricsFactory { given ?? MetricsSystem.factory }

  private func counter(_ name: String) -> Counter {
    Counter(label: Self.prefix + name, dimensions: dimensions, factory: factory)
  }

  private func gauge(_ name: String, _ more: [(String, String)] = []) -> Gauge {
    Gauge(label: Self.prefix + name, dimensions: dimensions + more, factory: factory)
  }

  private func timer(_ name: String) -> Metrics.Timer {
    Timer(label: Self.prefix + name, dimensions: dimensions, preferredDisplayUnit: .seconds, factory: factory)
  }
}
