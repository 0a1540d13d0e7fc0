import SharedStateDependencies
import Synchronization

/// Runs the tasks of a test, one job at a time, in the order in which they become ready; in a ``TestWorld`` in the
/// order of its schedule.
///
/// The test runs the jobs while it uses its store. While it waits for anything else, another thread runs them. So no
/// effect starves, and an effect that only computes has done so when the test continues.
final class TestExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// Whether a thread has been started to run them.
    var isThreadComing = false
    /// Whether jobs run only when the test asks for it.
    var isHeld = false
  }

  /// The schedule of the world in which the test store was made.
  private let schedule = Schedules.current as? WorldSchedule
  private let state = Mutex(State())
  /// Held while a job runs.
  private let turn = Mutex<Void>(())

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if let schedule { return schedule.enqueue(job, of: self) }
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

  /// Runs ready jobs until there are none, and none is running. Called by the test.
  func drain() {
    while runNext(isTest: true) {}
  }

  /// The clock for the waits of the test.
  var now: Duration { schedule?.now ?? Self.beginning.duration(to: .now) }

  private static let beginning = ContinuousClock.now

  /// Lets other participants run: a clock, another service, the main actor.
  nonisolated(nonsending) func letOthersRun() async {
    try? await Schedules.sleep(for: .milliseconds(1))
  }

  /// From now on jobs run only when the test drains them. None is running when this returns, so no effect comes between
  /// an action and the test's assertion about it.
  func hold() {
    // In a world the test runs on the only thread.
    guard schedule == nil else { return }
    turn._unsafeLock()
    state.withLock { $0.isHeld = true }
    turn._unsafeUnlock()
  }

  /// Lets other threads run ready jobs again.
  func letGo() {
    guard schedule == nil else { return }
    let needsThread = state.withLock { state in
      state.isHeld = false
      return callThread(&state)
    }
    if needsThread { startThread() }
  }

  private func runNext(isTest: Bool) -> Bool {
    if let schedule { return schedule.runNext(of: self) }
    // Locked without a closure, because the job is user code, which would have to be passed on to it.
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
