/// The tasks that wait until the observers of a box are notified of what has happened so far.
///
/// A box notifies its observers in rounds. A task that comes during a round waits for the end of the next one, because
/// the present one may have begun before the change that it waits for.
struct DeliveryWaiters {
  /// The time without the begin or the end of a round after which no task waits any longer.
  private static let patience = Duration.seconds(1)

  /// The tasks that wait for the end of the present round.
  private var ofRound: [ChangeWaiter] = []
  /// The tasks that wait for the end of the next one.
  private var ofNextRound: [ChangeWaiter] = []
  /// When a round was asked for, or the last one began or ended; `nil`: before the first task came.
  private var since: ContinuousClock.Instant?
  /// Whether a look at the time is scheduled.
  private var isWatched = false

  /// A round is asked for, and none is under way.
  mutating func expectRound(now: ContinuousClock.Instant) {
    since = now
  }

  mutating func beginRound(now: ContinuousClock.Instant) {
    since = now
    ofRound += ofNextRound
    ofNextRound = []
  }

  /// Returns the tasks to resume.
  mutating func endRound(now: ContinuousClock.Instant) -> [ChangeWaiter] {
    since = now
    defer { ofRound = [] }
    return ofRound
  }

  /// Adds a task, unless the observers have been blocked for too long.
  mutating func append(_ waiter: ChangeWaiter, now: ContinuousClock.Instant) -> Bool {
    since = since ?? now
    guard rest(now) > .zero else { return false }
    ofNextRound.append(waiter)
    return true
  }

  /// Returns the time until the next look, unless one is scheduled or none is needed.
  mutating func watch(now: ContinuousClock.Instant) -> Duration? {
    guard !isWatched, !ofRound.isEmpty || !ofNextRound.isEmpty else { return nil }
    isWatched = true
    return max(rest(now), .zero)
  }

  /// A scheduled look. Returns the tasks to resume, because the observers have been blocked for too long.
  mutating func look(now: ContinuousClock.Instant) -> [ChangeWaiter] {
    isWatched = false
    guard rest(now) <= .zero else { return [] }
    defer { (ofRound, ofNextRound) = ([], []) }
    return ofRound + ofNextRound
  }

  private func rest(_ now: ContinuousClock.Instant) -> Duration {
    since.map { $0 + Self.patience - now } ?? .zero
  }
}
