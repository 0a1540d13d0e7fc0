import Observation
import Synchronization

/// Tells whether what is read here is observed, as within `withObservationTracking`.
///
/// The library of the language keeps that to itself. But it puts each key path that is read into a set then, and only
/// then, for which it asks the arguments of the key path for their hash.
@usableFromInline
final class ObservationDetector: Sendable {
  // A class, because a copy of a structure would count references at each read.

  private let registrar = ObservationRegistrar()
  private let probe = Probe()
  private let keyPath: any KeyPath<Probe, Never> & Sendable = \.[Detector()]

  private static let shared = ObservationDetector()

  /// Counts how often anybody was asked. What another thread is asked meanwhile is taken for this thread's: then one
  /// more state is prepared for those who observe it.
  private static let detections = Atomic<UInt>(0)

  /// Whether this thread is asked what it reads.
  @usableFromInline
  static var isTracking: Bool {
    // Who reads inside a reducer observes nothing, and to know that takes less time.
    if ObservationDelivery.isCollecting { return false }
    let before = detections.load(ordering: .relaxed)
    let shared = shared
    shared.registrar.access(shared.probe, keyPath: shared.keyPath)
    return detections.load(ordering: .relaxed) != before
  }

  private final class Probe: Observable, Sendable {
    subscript(detector: Detector) -> Never {
      preconditionFailure("Nothing is read from here. This is a bug in SharedStateStore.")
    }
  }

  private struct Detector: Hashable, Sendable {
    func hash(into hasher: inout Hasher) {
      detections.wrappingAdd(1, ordering: .relaxed)
    }
  }
}
