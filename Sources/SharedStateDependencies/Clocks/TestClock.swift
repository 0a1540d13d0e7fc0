import IssueReporting
import Synchronization

/// A clock whose time passes only when a test says so.
///
/// ```swift
/// let clock = TestClock()
/// let model = withDependencies {
///   $0.continuousClock = clock
/// } operation: {
///   Model()
/// }
/// model.startTimer()
/// await clock.advance(by: .seconds(3))
/// ```
///
/// While the time passes, sleeps end one after the other: in the order of their deadlines, and with equal deadlines in
/// the order in which they began. `now` is then the deadline. Each task that wakes is running again before the time
/// passes on, and gets many turns for its work until its next sleep on this clock. The same holds for a task that was
/// about to sleep when the time began to pass. The clock cannot know when such a task is done. If it computes for long,
/// or waits for something other than this clock, let the test wait for that before it advances the clock.
///
/// A sleep until the present time ends with the next `advance()`; a sleep until an earlier time ends immediately. A
/// sleep whose task is cancelled ends immediately, with `CancellationError`. The clock may be used from any thread, but
/// should be advanced by one task at a time.
public final class TestClock<Duration: DurationProtocol & Hashable>: Clock {
  /// A point in the time of the clock.
  public typealias Instant = OffsetInstant<Duration>

  /// A task that is asleep.
  private struct Sleeper {
    /// Wakes it.
    let end = Signal()
    /// Sent when it is awake.
    let isAwake = Signal()
  }

  private let schedule: Mutex<SleepSchedule<Instant, Sleeper>>

  /// A clock with a time of its own.
  public init(now: Instant = Instant()) {
    schedule = Mutex(SleepSchedule(now: now))
  }

  /// The present time.
  public var now: Instant {
    schedule.withLock { $0.now }
  }

  /// Zero: the clock is exact.
  public var minimumResolution: Duration { .zero }

  /// Waits until the clock is advanced to the deadline.
  /// - Parameters:
  ///   - deadline: The time to wait for.
  ///   - tolerance: Ignored.
  /// - Throws: `CancellationError` when the task is cancelled, or when ``run(timeout:fileID:filePath:line:column:)``
  ///   ends the sleep.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    let sleeper = Sleeper()
    defer { sleeper.isAwake.send() }
    guard let id = schedule.withLock({ $0.begin(sleeper, until: deadline) }) else { return }
    try await sleeper.end.wait { [self] in
      _ = schedule.withLock { $0.end(id) }
    }
    try Task.checkCancellation()
  }

  /// Fails if any task sleeps on the clock, or is about to.
  /// - Throws: ``SuspensionError``.
  public nonisolated(nonsending) func checkSuspension() async throws {
    await settle()
    guard sleepCount == 0 else { throw SuspensionError() }
  }

  /// Lets an amount of time pass.
  ///
  /// Returns early when the task is cancelled.
  public nonisolated(nonsending) func advance(by duration: Duration = .zero) async {
    await advance(to: now.advanced(by: duration))
  }

  /// Lets the time pass until a deadline; does nothing if that has passed already.
  ///
  /// Returns early when the task is cancelled.
  public nonisolated(nonsending) func advance(to deadline: Instant) async {
    await settle()
    while await wakeNext(until: deadline) {}
  }

  /// Lets the time pass until no task sleeps on the clock any more.
  ///
  /// Returns early when the task is cancelled.
  /// - Parameter duration: How long to run, in real time. Then an issue is reported, and the remaining sleeps end with
  ///   `CancellationError`: a timer that never ends would keep the test running for ever.
  public nonisolated(nonsending) func run(
    timeout duration: Swift.Duration = .seconds(10),
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    let end = ContinuousClock.now + duration
    await settle()
    while !Task.isCancelled, let deadline = schedule.withLock({ $0.nextDeadline }) {
      guard ContinuousClock.now < end else { return giveUp() }
      _ = await wakeNext(until: deadline)
    }

    func giveUp() {
      let sleepers = schedule.withLock { $0.endAll() }
      for sleeper in sleepers { sleeper.end.send(.failure(CancellationError())) }
      reportIssue(
        """
        After \(duration) of running the clock, \(sleepers.count) still slept. \
        End the task that sleeps again and again, or use 'advance(by:)'.
        """,
        fileID: fileID,
        filePath: filePath,
        line: line,
        column: column
      )
    }
  }

  /// How many tasks sleep on the clock.
  var sleepCount: Int {
    schedule.withLock { $0.count }
  }

  /// How many sleeps have begun or ended.
  var eventCount: UInt64 {
    schedule.withLock { $0.eventCount }
  }

  /// Lets the time pass to the end of the next sleep, but not beyond a deadline.
  /// - Returns: Whether a sleep has ended.
  private nonisolated(nonsending) func wakeNext(until deadline: Instant) async -> Bool {
    if let world = Schedules.current {
      // The time of the other tasks of the world passes as well.
      let next = min(schedule.withLock { $0.nextDeadline } ?? deadline, deadline)
      if let time = now.duration(to: next) as? Swift.Duration { try? await world.sleep(until: world.now + time) }
    }
    guard !Task.isCancelled, let sleeper = schedule.withLock({ $0.advance(to: deadline) }) else { return false }
    sleeper.end.send()
    // It throws only when this task is cancelled.
    try? await sleeper.isAwake.wait()
    await settle()
    return true
  }

  /// Gives other tasks turns, until for some time no task has used one to begin or end a sleep.
  private nonisolated(nonsending) func settle() async {
    if let world = Schedules.current { return await world.settle() }
    // A turn takes some ten microseconds, and a task whose thread the system has suspended may need many of them. If
    // other tasks keep the processors busy, a turn waits for all of them, so that fewer turns are enough.
    let enoughTurns = 100
    let (fewestTurns, enoughTime) = (10, Swift.Duration.milliseconds(50))
    var quietTurns = 0
    var quietSince = ContinuousClock.now
    var lastCount = eventCount
    while quietTurns < enoughTurns, !Task.isCancelled {
      await Turn.give()
      let (count, time) = (eventCount, ContinuousClock.now)
      if count == lastCount {
        quietTurns += 1
        if quietTurns >= fewestTurns, time - quietSince >= enoughTime { return }
      } else {
        (quietTurns, quietSince, lastCount) = (0, time, count)
      }
    }
  }
}

extension TestClock where Duration == Swift.Duration {
  /// A clock whose time begins at zero.
  public convenience init() {
    self.init(now: Instant())
  }
}
