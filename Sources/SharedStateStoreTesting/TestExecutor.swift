import Synchronization

/// Runs the tasks of a test, one job at a time, in the order in which they become ready.
///
/// The test runs them when it uses its store; whatever else it waits for, another thread does. So no effect starves, and one
/// that only computes has done so when the test goes on.
final class TestExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// Whether a thread is on its way to run them.
    var isThreadComing = false
    /// Whether jobs run only when the test says so.
    var isHeld = false
  }

  private let state = Mutex(State())
  /// Held while a job runs.
  private let turn = Mutex<Void>(())

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let needsThread = state.withLock { state in
      state.jobs.append(job)
      return callThread(&state)
    }
    if needsThread { startThread() }
  }

  private func callThread(_ state: inout State) -> Bool {
    guard !state.isHeld, !state.isThreadComing, !state.jobs.isEmpty else { return false }
    state.isThreadComing = true
    return true
  }

  private func startThread() {
    Task.detached(priority: .high) { [self] in
      state.withLock { $0.isThreadComing = false }
      while runNext(isTest: false) {}
    }
  }

  /// Runs what is ready until nothing is, and nothing is running. To be called by the test.
  func drain() {
    while runNext(isTest: true) {}
  }

  /// From now on nothing runs unless the test drains it, and nothing is running when this returns: so no effect comes
  /// between an action and what the test says of it.
  func hold() {
    turn._unsafeLock()
    state.withLock { $0.isHeld = true }
    turn._unsafeUnlock()
  }

  /// Lets other threads run what is ready again.
  func letGo() {
    let needsThread = state.withLock { state in
      state.isHeld = false
      return callThread(&state)
    }
    if needsThread { startThread() }
  }

  private func runNext(isTest: Bool) -> Bool {
    // Taken by hand, because the job is somebody else's code, which a closure would have to be handed on to.
    turn._unsafeLock()
    defer { turn._unsafeUnlock() }
    let job = state.withLock { state -> UnownedJob? in
      state.jobs.isEmpty || (state.isHeld && !isTest) ? nil : state.jobs.removeFirst()
    }
    guard let job else { return false }
    job.runSynchronously(on: asUnownedTaskExecutor())
    return true
  }
}
