import SharedStateDependencies

/// A moment of the continuous clock.
///
/// `ContinuousClock.Instant` means the same, but the compiler does not know its size. Code has to look up the layout at
/// run time to copy or compare a type that contains one, and everything that waits for a deadline contains one.
package struct Instant: Comparable, Sendable {
  private let elapsed: Duration

  private static let beginning = ContinuousClock.now

  /// The present moment. In a test's world, the moment of its schedule.
  package static var now: Instant {
    if let schedule = Schedules.current { return Instant(elapsed: schedule.now) }
    return Instant(elapsed: beginning.duration(to: .now))
  }

  /// A moment before the start of every clock.
  static let past = Instant(elapsed: .seconds(-1))
  /// Later than all others.
  static let never = Instant(elapsed: .seconds(1 << 40))

  /// The same moment on the schedule of a test's world.
  var onSchedule: Duration { elapsed }

  package func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }

  package func duration(to other: Instant) -> Duration { other.elapsed - elapsed }

  package static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.elapsed < rhs.elapsed }

  package static func + (lhs: Instant, rhs: Duration) -> Instant { lhs.advanced(by: rhs) }

  package static func - (lhs: Instant, rhs: Instant) -> Duration { rhs.duration(to: lhs) }
}

extension Instant {
  /// The deadline of the next of several attempts that share the time until this deadline, so that one that never
  /// ends does not use up the time of the others.
  func share(of attempts: Int) -> Instant { .now.advanced(by: Instant.now.duration(to: self) / max(attempts, 1)) }

  /// Runs the next of several attempts until the deadline of its share. As much as it extends that, it extends this
  /// deadline, too.
  ///
  /// - Returns: The result, and the deadline of the share.
  mutating func share<Result>(
    of attempts: Int,
    _ attempt: (inout Instant) throws(RedisSharedStateError) -> Result
  ) throws(RedisSharedStateError) -> (result: Result, end: Instant) {
    let share = share(of: attempts)
    var end = share
    defer { self = self + (end - share) }
    return (try attempt(&end), end)
  }
}
