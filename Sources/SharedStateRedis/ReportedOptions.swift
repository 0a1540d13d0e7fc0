import SharedState
import Synchronization

/// Which options of which names were reported to differ between shares: each once.
final class ReportedOptions: Sendable {
  private struct Difference: Hashable {
    let name: Name
    let option: KeyOption
  }

  /// How many are remembered; what comes after that is not reported.
  static let maximum = 1_000

  private let reported = Mutex<Set<Difference>>([])

  /// Whether this is to be reported.
  func insert(_ name: Name, _ option: KeyOption) -> Bool {
    reported.withLock { reported in
      reported.count < Self.maximum && reported.insert(Difference(name: name, option: option)).inserted
    }
  }
}
