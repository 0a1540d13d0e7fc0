import Observation
import Synchronization

/// Counts the first change of the values that it reads.
final class Observer: Sendable {
  private let count = Atomic(0)

  init(_ read: () -> Void) {
    withObservationTracking(read) { self.count.add(1, ordering: .relaxed) }
  }

  convenience init<Value>(_ read: @autoclosure () -> Value) {
    self.init { _ = read() }
  }

  var hasHeard: Bool { count.load(ordering: .relaxed) > 0 }
}
