import SharedStateDependencies

/// The time of a world.
struct WorldClock: Clock {
  typealias Instant = OffsetInstant<Duration>

  let schedule: WorldSchedule

  var now: Instant { Instant(offset: schedule.now) }

  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    try await schedule.sleep(until: deadline.offset)
  }
}
