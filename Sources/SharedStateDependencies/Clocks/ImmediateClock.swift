import Synchronization

/// A clock on which every sleep ends immediately: its time jumps to the deadline.
///
/// ```swift
/// withDependencies {
///   $0.continuousClock = .immediate
/// } operation: { … }
/// ```
///
/// Each sleep lets other tasks run, so that a loop of sleeps does not keep them waiting. The time never goes back. The
/// clock may be used from any thread.
public final class ImmediateClock<Duration: DurationProtocol & Hashable>: Clock {
  /// A point in the time of the clock.
  public typealias Instant = OffsetInstant<Duration>

  private let time: Mutex<Instant>

  /// A clock with a time of its own.
  public init(now: Instant = Instant()) {
    time = Mutex(now)
  }

  /// The present time: the latest deadline of a sleep.
  public var now: Instant {
    time.withLock(\.self)
  }

  /// Zero: the clock is exact.
  public var minimumResolution: Duration { .zero }

  /// Moves the time forward to the deadline.
  /// - Parameters:
  ///   - deadline: The time to jump to.
  ///   - tolerance: Ignored.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    time.withLock { $0 = max($0, deadline) }
    await Turn.give()
    try Task.checkCancellation()
  }
}

extension ImmediateClock where Duration == Swift.Duration {
  /// A clock whose time begins at zero.
  public convenience init() {
    self.init(now: Instant())
  }
}

extension Clock where Self == ImmediateClock<Swift.Duration> {
  /// A new clock on which every sleep ends immediately.
  public static var immediate: Self { ImmediateClock() }
}
