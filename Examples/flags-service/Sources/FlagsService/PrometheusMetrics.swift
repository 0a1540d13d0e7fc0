import Metrics
import Synchronization

/// A metrics factory whose numbers are read in the text format of Prometheus, without types and buckets.
///
/// A real service uses a package for that. Any factory is handed to the store in the same way.
final class PrometheusMetrics: MetricsFactory {
  private let numbers = Mutex<[String: Double]>([:])

  /// A line for each number.
  var text: String {
    numbers.withLock { $0 }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
  }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    Series(label, dimensions, isDistribution: false, self)
  }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    Series(label, dimensions, isDistribution: aggregate, self)
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    Series(label, dimensions, isDistribution: true, self)
  }

  // What was counted stays.
  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}

  /// The numbers of one metric: one, or the sum and the count of a distribution.
  private final class Series: CounterHandler, RecorderHandler, TimerHandler {
    private let name, sum, count: String
    private let isDistribution: Bool
    private let metrics: PrometheusMetrics

    init(_ label: String, _ dimensions: [(String, String)], isDistribution: Bool, _ metrics: PrometheusMetrics) {
      let labels = "{\(dimensions.map { "\($0)=\(Self.quoted($1))" }.joined(separator: ","))}"
      (name, sum, count) = (label + labels, "\(label)_sum\(labels)", "\(label)_count\(labels)")
      self.isDistribution = isDistribution
      self.metrics = metrics
      // A metric that has counted nothing yet is shown as zero.
      metrics.numbers.withLock { for name in isDistribution ? [sum, count] : [name] { $0[name, default: 0] += 0 } }
    }

    func increment(by amount: Int64) { metrics.numbers.withLock { $0[name, default: 0] += Double(amount) } }
    func reset() { metrics.numbers.withLock { $0[name] = 0 } }
    func record(_ value: Int64) { record(Double(value)) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func record(_ value: Double) {
      metrics.numbers.withLock { numbers in
        guard isDistribution else { return numbers[name] = value }
        numbers[sum, default: 0] += value
        numbers[count, default: 0] += 1
      }
    }

    private static func quoted(_ text: String) -> String {
      let escapes: [Character: String] = ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"]
      return "\"\(text.map { escapes[$0] ?? String($0) }.joined())\""
    }
  }
}
