import Synchronization

/// The jobs of one role, which its thread runs one by one.
///
/// The list has a lock of its own, so that its thread competes with callers that change values for the link's lock only
/// once for each batch of jobs. Where both locks are taken, the link's comes first.
final class JobList: Sendable {
  enum Next: Sendable {
    case job(Job)
    /// Outcomes for the state machines, to be reported before the jobs that follow from them. `isDone`: no job is left.
    case report([Job.Outcome], isDone: Bool)
    /// Another thread has taken over the list. The outcome of the last job is not in it.
    case lost
  }

  /// Which jobs take too long.
  enum Delay: Sendable {
    case none
    /// The job that the thread is running.
    case ofOne
    /// All jobs together, so that other work waits for them, but no single one.
    case ofMany
  }

  private struct Running: Sendable {
    let owner: Job.Owner?
    /// How many ticks have found this job running.
    var ticks = 0
  }

  private struct State {
    /// The number of the thread that has the list.
    var turn: UInt64?
    /// Bounded by the jobs that one batch of replies leads to.
    var jobs = Queue<Job>()
    var outcomes: [Job.Outcome] = []
    var running: Running?
    /// How many ticks have found a job running since the last report.
    var ticks = 0
    /// How many ticks have found a job running since the list was last empty, on whichever threads: many slow jobs, one
    /// after the other, hold up other work as well.
    var ticksOfAll = 0
  }

  private let state = Mutex(State())

  /// Gives the list to its first thread, or to one that follows a thread that has ended.
  func begin(_ turn: UInt64) {
    state.withLock { $0.turn = turn }
  }

  /// Adds jobs.
  ///
  /// - Returns: Whether there is anything to do: jobs, or outcomes of jobs that a thread ran before it lost the list.
  func append(_ jobs: [Job]) -> Bool {
    state.withLock { state in
      for job in jobs { state.jobs.append(job) }
      return state.jobs.first != nil || !state.outcomes.isEmpty
    }
  }

  /// The next step of a thread after a job.
  func next(for turn: UInt64, after outcome: Job.Outcome?) -> Next {
    state.withLock { state in
      guard state.turn == turn else { return .lost }
      state.running = nil
      if let outcome { state.outcomes.append(outcome) }
      // Outcomes are reported early, so that their waiters do not wait for many other slow jobs.
      let isSlow = state.ticks > 0 && !state.outcomes.isEmpty
      guard !isSlow, let job = state.jobs.popFirst() else {
        defer { (state.outcomes, state.ticks) = ([], 0) }
        let isDone = state.jobs.first == nil
        if isDone { state.ticksOfAll = 0 }
        return .report(state.outcomes, isDone: isDone)
      }
      state.running = Running(owner: job.owner)
      return .job(job)
    }
  }

  /// Notes that time has passed, and returns which jobs take too long; `nil`: the thread is not running a job.
  func tick() -> Delay? {
    state.withLock { state in
      guard let ticks = state.running?.ticks else { return nil }
      state.running?.ticks = ticks + 1
      state.ticks += 1
      state.ticksOfAll += 1
      if ticks + 1 > JobWatch.patience { return .ofOne }
      return state.ticksOfAll > JobWatch.patience && state.jobs.first != nil ? .ofMany : Delay.none
    }
  }

  /// Takes away the waiting jobs, when jobs take too long together. The jobs of the owner whose job is running stay:
  /// the same thread runs them, in order.
  func takeRest() -> [Job] {
    state.withLock { state in
      let own = state.running?.owner
      var (kept, rest) = (Queue<Job>(), [Job]())
      while let job = state.jobs.popFirst() {
        if job.owner == nil || job.owner == own { kept.append(job) } else { rest.append(job) }
      }
      state.jobs = kept
      return rest
    }
  }

  /// Takes the list away from a thread that is running a job, and gives it to another thread. When that one cannot be
  /// started, the list stays where it is.
  ///
  /// - Parameters:
  ///   - turn: The number of the other thread.
  ///   - start: Starts the other thread.
  /// - Returns: The owner of that job, and the owner's other jobs; `nil`: the thread is not running a job any more.
  func relieve<Failure>(
    by turn: UInt64,
    _ start: () throws(Failure) -> Void
  ) throws(Failure) -> (owner: Job.Owner?, jobs: [Job])? {
    try state.withLock { state throws(Failure) in
      guard let running = state.running else { return nil }
      try start()
      (state.running, state.turn) = (nil, turn)
      guard let owner = running.owner else { return (nil, []) }
      var (its, others) = ([Job](), Queue<Job>())
      while let job = state.jobs.popFirst() {
        if job.owner == owner { its.append(job) } else { others.append(job) }
      }
      state.jobs = others
      return (owner, its)
    }
  }
}
