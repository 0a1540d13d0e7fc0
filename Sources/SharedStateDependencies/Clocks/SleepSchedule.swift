/// Decides which sleep of a test clock ends next: the one with the earliest deadline, and of several with that deadline
/// the one that began first.
///
/// A value without tasks and locks.
struct SleepSchedule<Instant: InstantProtocol, Sleeper> {
  /// The number of a sleep, in the order in which they begin.
  typealias ID = UInt64

  private struct Sleep {
    let id: ID
    let deadline: Instant
    let sleeper: Sleeper
  }

  private(set) var now: Instant
  /// How many sleeps have begun or ended. A change of it shows that a task is at work.
  private(set) var eventCount: UInt64 = 0
  /// Ordered by deadline, and with equal deadlines by beginning.
  private var sleeps: [Sleep] = []

  init(now: Instant) {
    self.now = now
  }

  /// The number of sleeps.
  var count: Int { sleeps.count }

  /// The earliest deadline of the sleeps.
  var nextDeadline: Instant? { sleeps.first?.deadline }

  /// Begins a sleep.
  /// - Returns: Its number; `nil` when the deadline has passed, so that there is nothing to wait for.
  mutating func begin(_ sleeper: Sleeper, until deadline: Instant) -> ID? {
    guard deadline >= now else { return nil }
    eventCount += 1
    let sleep = Sleep(id: eventCount, deadline: deadline, sleeper: sleeper)
    let index = sleeps.firstIndex { $0.deadline > deadline } ?? sleeps.endIndex
    sleeps.insert(sleep, at: index)
    return sleep.id
  }

  /// Ends a sleep before its deadline.
  /// - Returns: Its sleeper; `nil` when the sleep has ended already.
  mutating func end(_ id: ID) -> Sleeper? {
    guard let index = sleeps.firstIndex(where: { $0.id == id }) else { return nil }
    eventCount += 1
    return sleeps.remove(at: index).sleeper
  }

  /// Lets the time pass until the next sleep ends, but not beyond a target.
  /// - Returns: The sleeper that wakes; `nil` when the time is the target, or was past it from the beginning.
  mutating func advance(to target: Instant) -> Sleeper? {
    guard target >= now else { return nil }
    guard let next = sleeps.first, next.deadline <= target else {
      now = target
      return nil
    }
    now = next.deadline
    eventCount += 1
    return sleeps.removeFirst().sleeper
  }

  /// Ends all sleeps before their deadlines.
  /// - Returns: The sleepers.
  mutating func endAll() -> [Sleeper] {
    eventCount += UInt64(sleeps.count)
    defer { sleeps = [] }
    return sleeps.map(\.sleeper)
  }
}

/// A turn for the tasks that are ready to run.
enum Turn {
  /// Lets other tasks run: those that wait for the same actor, and those of the global executor.
  nonisolated(nonsending) static func give() async {
    await Task.yield()
    // A continuation, because an awaited task would be raised to the priority of the awaiting one.
    await withCheckedContinuation { continuation in
      Task.detached(priority: .background) { continuation.resume() }
    }
  }
}
