/// Decides when a document is written: the first change immediately, then at most one write in an interval; on request
/// immediately.
///
/// It has no clock and no timer: the caller hands in the time, and performs the actions.
struct SaveThrottle {
  /// The next step of the caller.
  enum Action: Equatable {
    case nothing
    /// Write the pending change, then call ``finish(at:)``.
    case write
    /// Call ``wake(at:)`` at that time.
    case wake(at: ContinuousClock.Instant)
  }

  private let interval: Duration
  private var newestWrite: ContinuousClock.Instant?
  private var isWakeUnderWay = false
  private var isUrgent = false

  /// Whether a change has to be written.
  private(set) var isPending = false
  /// Whether a write is under way.
  private(set) var isWriting = false

  /// - Parameter interval: The least time from the start of one write to that of the next.
  init(interval: Duration) {
    self.interval = interval
  }

  /// Whether no change is pending or being written.
  var isIdle: Bool { !isPending && !isWriting }

  /// Asks for a write, because of a change.
  mutating func request(at now: ContinuousClock.Instant, isUrgent: Bool) -> Action {
    isPending = true
    self.isUrgent = self.isUrgent || isUrgent
    return proceed(at: now)
  }

  /// Asks for the pending write immediately, if there is one.
  mutating func writeNow(at now: ContinuousClock.Instant) -> Action {
    guard isPending else { return .nothing }
    return request(at: now, isUrgent: true)
  }

  /// Call when the time that ``Action/wake(at:)`` named has come.
  mutating func wake(at now: ContinuousClock.Instant) -> Action {
    isWakeUnderWay = false
    return proceed(at: now)
  }

  /// Call when the write has ended, with or without success.
  mutating func finish(at now: ContinuousClock.Instant) -> Action {
    isWriting = false
    return proceed(at: now)
  }

  private mutating func proceed(at now: ContinuousClock.Instant) -> Action {
    guard isPending, !isWriting else { return .nothing }
    let due = newestWrite.map { $0.advanced(by: interval) } ?? now
    if isUrgent || now >= due {
      isPending = false
      isUrgent = false
      isWriting = true
      newestWrite = now
      return .write
    }
    guard !isWakeUnderWay else { return .nothing }
    isWakeUnderWay = true
    return .wake(at: due)
  }
}
