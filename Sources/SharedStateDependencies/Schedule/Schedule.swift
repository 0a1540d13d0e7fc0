import Synchronization

/// Decides in a test which step comes next, and what time it is.
///
/// All steps run on one thread, one after the other. A type that otherwise has threads or a time of its own asks, when
/// it is made, for the schedule of its thread: see ``Schedules/current``.
package protocol Schedule: AnyObject, Sendable {
  /// The time since it began.
  var now: Duration { get }
  /// Whether it is over, so that no task waits for time to pass any more.
  var hasEnded: Bool { get }
  /// The executor of the tasks.
  var executor: any TaskExecutor { get }

  /// A number that depends on the seed.
  func randomNumber() -> UInt64
  /// Announces the next task that this thread begins. The schedule waits for it until ``end(_:)``.
  ///
  /// - Returns: The number of the task.
  func announce(_ name: String) -> Int
  /// Call when an announced task has ended.
  func end(_ participant: Int)
  /// Calls a closure when the time has come, or when the schedule is over.
  ///
  /// - Returns: The number of the call.
  func call(at time: Duration, _ closure: @escaping @Sendable () -> Void) -> UInt64
  /// Withdraws a call.
  func cancelCall(_ number: UInt64)
  /// Waits until all other tasks wait for time to pass.
  nonisolated(nonsending) func settle() async
}

extension Schedule {
  /// Starts a task that has no other owner.
  package func start(_ name: String, _ operation: @escaping @Sendable () async -> Void) {
    let participant = announce(name)
    Task(executorPreference: executor) { [self] in
      await operation()
      end(participant)
    }
  }

  /// Lets time pass. Returns early when the schedule is over.
  ///
  /// - Throws: `CancellationError`.
  package nonisolated(nonsending) func sleep(until time: Duration) async throws {
    let alarm = Alarm(on: self)
    await withTaskCancellationHandler {
      await alarm.wait(until: time) { Task.isCancelled }
    } onCancel: {
      alarm.ring()
    }
    try Task.checkCancellation()
  }
}

/// Lets a task wait for a moment of a schedule, or for an earlier ring.
package final class Alarm: Sendable {
  private let schedule: any Schedule
  private let sleeper = Mutex<CheckedContinuation<Void, Never>?>(nil)

  package init(on schedule: any Schedule) {
    self.schedule = schedule
  }

  /// Wakes the waiting task. May be called from any thread.
  package func ring() {
    let sleeper = sleeper.withLock { $0.take() }
    sleeper?.resume()
  }

  /// Waits until it rings, or the time has come, or the schedule is over. One task at a time may wait.
  ///
  /// - Parameter isDue: Whether it has rung before, so that there is nothing to wait for.
  package nonisolated(nonsending) func wait(until time: Duration, unless isDue: () -> Bool) async {
    let call = schedule.call(at: time) { [self] in ring() }
    await withCheckedContinuation { continuation in
      sleeper.withLock { $0 = continuation }
      // Checked afterwards, because from now on a ring finds the waiting task.
      if schedule.hasEnded || isDue() { ring() }
    }
    schedule.cancelCall(call)
  }
}
