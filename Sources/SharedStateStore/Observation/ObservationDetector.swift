import Observation
import Synchronization

/// Detects whether reads on this thread are observed, as within `withObservationTracking`.
///
/// The standard library does not report it. But when reads are observed, and only then, it puts each key path that is
/// read into a set, for which it hashes the arguments of the key path.
@usableFromInline
final class ObservationDetector: Sendable {
  // A class, because a copy of a structure would count references at each read.

  private let registrar = ObservationRegistrar()
  private let probe = Probe()
  private let keyPath: any KeyPath<Probe, Never> & Sendable = \.[Detector()]

  private static let shared = ObservationDetector()

  /// The number of hashes so far. A hash on another thread at the same moment counts for this thread, too: then one
  /// more state is prepared for observers.
  private static let detections = Atomic<UInt>(0)

  /// Whether reads on this thread are observed.
  @usableFromInline
  static var isTracking: Bool {
    // Reads inside a reducer are not observed, and that check is cheaper.
    if ObservationDelivery.isCollecting { return false }
    let before = detections.load(ordering: .relaxed)
    let shared = shared
    shared.registrar.access(shared.probe, keyPath: shared.keyPath)
    return detections.load(ordering: .relaxed) != before
  }

  private final class Probe: Observable, Sendable {
    subscript(detector: Detector) -> Never {
      preconditionFailure("This property is never read. This is a bug in SharedStateStore.")
    }
  }

  private struct Detector: Hashable, Sendable {
    func hash(into hasher: inout Hasher) {
      detections.wrappingAdd(1, ordering: .relaxed)
    }
  }
}
