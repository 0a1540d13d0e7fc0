import Observation
import Synchronization

/// Counts the changes that Observation reports of the values that a closure reads.
final class ChangeCounter: Sendable {
  private let changes = Mutex(0)
  private let read: @Sendable () -> Void

  init(_ read: @escaping @Sendable () -> Void) {
    self.read = read
    observe()
  }

  var count: Int {
    changes.withLock { $0 }
  }

  private func observe() {
    withObservationTracking(read) { [self] in
      changes.withLock { $0 += 1 }
      observe()
    }
  }
}
