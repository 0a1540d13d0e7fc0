/// Decides which sleep of a test clock ends next: the one with the earliest deadline, and of those the one that began
/// first.
///
/// A value, which knows no tasks and no locks.
struct SleepSchedule<Instant: InstantProtocol, Sleeper> {
  /// The number of a sleep, in the order in which they begin.
  typealias ID = UInt64

  private struct Sleep {
    let id: ID
    let deadline: Instant
    let sleeper: Sleeper
  }

  private(set) var now: Instant
  /// How many sleeps have begun or ended: a change of it tells that somebody is at work.
  private(set) var eventCount: UInt64 = 0
  /// Ordered by the deadline, and equal ones by their beginning.
  private var sleeps: [Sleep] = []

  init(now: Instant) {
    self.now = now
  }

  /// How many are asleep.
  var count: Int { sleeps.count }

  /// The earliest deadline of those that are asleep.
  var nextDeadline: Instant? { sleeps.first?.deadline }

  /// Begins a sleep.
  /// - Returns: Its number; nil when the deadline has passed, so that there is nothing to wait for.
  mutating func begin(_ sleeper: Sleeper, until deadline: Instant) -> ID? {
    guard deadline >= now else { return nil }
    eventCount += 1
    let sleep = Sleep(id: eventCount, deadline: deadline, sleeper: sleeper)
    let index = sleeps.firstIndex { $0.deadline > deadline } ?? sleeps.endIndex
    sleeps.insert(sleep, at: index)
    return sleep.id
  }

  /// Ends a sleep before its deadline.
  /// - Returns: Who slept; nil when the sleep has ended already.
  mutating func end(_ id: ID) -> Sleeper? {
    guard let index = sleeps.firstIndex(where: { $0.id == id }) else { return nil }
    eventCount += 1
    return sleeps.remove(at: index).sleeper
  }

  /// Lets the time pass until the next sleep ends, but not beyond a target.
  /// - Returns: Who has slept until now; nil when the time is the target, or was past it from the beginning.
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
  /// - Returns: Who slept.
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
    // A continuation, since the priority of a task that is awaited is raised to that of who awaits it.
    await withCheckedContinuation { continuation in
      Task.detached(priority: .background) { continuation.resume() }
    }
  }
}
