import Synchronization

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
