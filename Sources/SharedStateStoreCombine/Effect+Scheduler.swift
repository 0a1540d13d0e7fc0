public import SharedStateStore

public import OpenCombine

extension Effect {
  /// Begins the effect once no other effect with the same id was begun for some time, measured by a scheduler.
  public func debounce<Timer: Scheduler>(
    id: some Hashable & Sendable,
    for duration: Timer.SchedulerTimeType.Stride,
    scheduler: Timer,
    options: Timer.SchedulerOptions? = nil
  ) -> Self where Timer: SendableMetatype, Timer.SchedulerTimeType: SendableMetatype {
    let timer = SchedulerTimer(scheduler, options: options, interval: duration)
    return debounce(id: id) { try await timer.sleep(until: timer.next(timer.now)) }
  }

  /// Lets through at most one action of the effects with the same id in some time, measured by a scheduler.
  ///
  /// The first action passes immediately. Of the actions that follow within `duration`, one passes when that time is
  /// over.
  /// - Parameter latest: Whether the latest action passes, or the first action that came too soon.
  public func throttle<Timer: Scheduler>(
    id: some Hashable & Sendable,
    for duration: Timer.SchedulerTimeType.Stride,
    scheduler: Timer,
    latest: Bool
  ) -> Self where Timer: SendableMetatype, Timer.SchedulerTimeType: SendableMetatype {
    let timer = SchedulerTimer(scheduler, options: nil, interval: duration)
    return throttle(
      id: id,
      latest: latest,
      now: { timer.now },
      next: { timer.next($0) },
      sleep: { try await timer.sleep(until: $0) }
    )
  }
}

/// A scheduler as the timer of an effect.
private final class SchedulerTimer<Timer: Scheduler & SendableMetatype>: Sendable
where Timer.SchedulerTimeType: SendableMetatype {
  private let scheduler: Handed<Timer>
  private let options: Handed<Timer.SchedulerOptions?>
  private let interval: Handed<Timer.SchedulerTimeType.Stride>

  init(_ scheduler: Timer, options: Timer.SchedulerOptions?, interval: Timer.SchedulerTimeType.Stride) {
    self.scheduler = Handed(scheduler)
    self.options = Handed(options)
    self.interval = Handed(interval)
  }

  var now: SchedulerTime<Timer.SchedulerTimeType> { SchedulerTime(scheduler.value.now) }

  /// The time after a given time.
  func next(_ time: SchedulerTime<Timer.SchedulerTimeType>) -> SchedulerTime<Timer.SchedulerTimeType> {
    SchedulerTime(time.handed.value.advanced(by: interval.value))
  }

  /// Waits until a time.
  func sleep(until deadline: SchedulerTime<Timer.SchedulerTimeType>) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    scheduler.value.schedule(
      after: deadline.handed.value,
      tolerance: scheduler.value.minimumTolerance,
      options: options.value
    ) {
      continuation.finish()
    }
    for await _ in stream {}
    try Task.checkCancellation()
  }
}

/// A time of a scheduler.
private struct SchedulerTime<Time: Comparable & SendableMetatype>: Comparable, Sendable {
  let handed: Handed<Time>

  init(_ time: Time) {
    handed = Handed(time)
  }

  static func == (lhs: Self, rhs: Self) -> Bool { lhs.handed.value == rhs.handed.value }

  static func < (lhs: Self, rhs: Self) -> Bool { lhs.handed.value < rhs.handed.value }
}
