import SharedStateDependencies

/// A moment of the continuous clock.
///
/// `ContinuousClock.Instant` says the same, but the compiler does not know how large it is: whatever contains one is laid
/// out, copied and compared by looking that up while the program runs. All that waits for something contains one.
package struct Instant: Comparable, Hashable, Sendable {
  private let elapsed: Duration

  private static let beginning = ContinuousClock.now

  /// The present moment: in a test's world that of its schedule.
  package static var now: Instant {
    if let schedule = Schedules.current { return Instant(elapsed: schedule.now) }
    return Instant(elapsed: beginning.duration(to: .now))
  }

  /// A moment that is over on every clock.
  static let past = Instant(elapsed: .seconds(-1))

  /// The same moment on the schedule of a test's world.
  var onSchedule: Duration { elapsed }

  package func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }

  package func duration(to other: Instant) -> Duration { other.elapsed - elapsed }

  package static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.elapsed < rhs.elapsed }

  package static func + (lhs: Instant, rhs: Duration) -> Instant { lhs.advanced(by: rhs) }

  package static func - (lhs: Instant, rhs: Duration) -> Instant { Instant(elapsed: lhs.elapsed - rhs) }

  package static func - (lhs: Instant, rhs: Instant) -> Duration { rhs.duration(to: lhs) }

  package static func += (lhs: inout Instant, rhs: Duration) { lhs = lhs + rhs }
}
