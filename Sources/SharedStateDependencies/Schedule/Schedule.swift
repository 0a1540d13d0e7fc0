import Synchronization

/// What decides in a test which step comes next, and what time it is.
///
/// All steps run on one thread, one after the other. What otherwise has threads or a time of its own asks, when it is
/// made, for the schedule of the thread that makes it: see ``Schedules/current``.
package protocol Schedule: AnyObject, Sendable {
  /// How much time has passed since it began.
  var now: Duration { get }
  /// Whether it is over: then nobody waits for time to pass any more.
  var hasEnded: Bool { get }
  /// Where tasks run.
  var executor: any TaskExecutor { get }

  /// A number that the seed decides.
  func randomNumber() -> UInt64
  /// Says what the next task is that this thread begins. It is one of those that are waited for until ``end(_:)``.
  ///
  /// - Returns: Its number.
  func announce(_ name: String) -> Int
  /// A task that was announced has ended.
  func end(_ participant: Int)
  /// Calls a closure when the time has come, or when the schedule is over.
  ///
  /// - Returns: The number of the call.
  func call(at time: Duration, _ closure: @escaping @Sendable () -> Void) -> UInt64
  /// Does not call the closure any more.
  func cancelCall(_ number: UInt64)
  /// Waits until everybody else waits for time to pass.
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

/// Lets a task wait for a moment of a schedule, or until somebody rings before.
package final class Alarm: Sendable {
  private let schedule: any Schedule
  private let sleeper = Mutex<CheckedContinuation<Void, Never>?>(nil)

  package init(on schedule: any Schedule) {
    self.schedule = schedule
  }

  /// Wakes who waits now. May be called from any thread.
  package func ring() {
    let sleeper = sleeper.withLock { $0.take() }
    sleeper?.resume()
  }

  /// Waits until it rings, or the time has come, or the schedule is over. One task at a time may wait.
  ///
  /// - Parameter isDue: Whether there is nothing to wait for, since it has rung before.
  package nonisolated(nonsending) func wait(until time: Duration, unless isDue: () -> Bool) async {
    let call = schedule.call(at: time) { [self] in ring() }
    await withCheckedContinuation { continuation in
      sleeper.withLock { $0 = continuation }
      // Asked afterwards: whoever rings from now on finds who waits.
      if schedule.hasEnded || isDue() { ring() }
    }
    schedule.cancelCall(call)
  }
}
