import Synchronization

/// The jobs of one role, which its thread does one by one.
///
/// It has a lock of its own, so that the thread does not compete for the link's with those who change values: that is
/// taken once for a batch of jobs. Where both are taken, the link's comes first.
final class JobList: Sendable {
  enum Next: Sendable {
    case job(Job)
    /// What is to be told to the state machines, before the jobs that follow from it.
    case report([Job.Outcome])
    /// Somebody else goes on with the list. What the last job has led to is not in it.
    case lost
  }

  /// What takes too long.
  enum Delay: Sendable {
    case none
    /// The job that the thread is doing.
    case ofOne
    /// None by itself, and all of them together, so that others wait for them.
    case ofMany
  }

  private struct Running: Sendable {
    let owner: Job.Owner?
    /// How often it was seen.
    var ticks = 0
  }

  private struct State {
    /// The number of the thread whose list it is.
    var turn: UInt64?
    /// Bounded by what comes of one batch of replies.
    var jobs = Queue<Job>()
    var outcomes: [Job.Outcome] = []
    /// The job that the thread is doing.
    var running: Running?
    /// How often jobs were seen since something was reported.
    var ticks = 0
    /// How often jobs were seen since there was none left, whichever threads did them: many that take too long one by one
    /// are too many as well.
    var ticksOfAll = 0
  }

  private let state = Mutex(State())

  /// Another thread goes on.
  func begin(_ turn: UInt64) {
    state.withLock { $0.turn = turn }
  }

  /// Adds jobs.
  ///
  /// - Returns: Whether there is anything to do: jobs, or what came of those that a thread has done before it lost the list.
  func append(_ jobs: [Job]) -> Bool {
    state.withLock { state in
      for job in jobs { state.jobs.append(job) }
      return state.jobs.first != nil || !state.outcomes.isEmpty
    }
  }

  /// What a thread does after a job.
  func next(for turn: UInt64, after outcome: Job.Outcome?) -> Next {
    state.withLock { state in
      guard state.turn == turn else { return .lost }
      state.running = nil
      if let outcome { state.outcomes.append(outcome) }
      // Who waits for what was done does not have to wait for many others that take long.
      let isSlow = state.ticks > 0 && !state.outcomes.isEmpty
      guard !isSlow, let job = state.jobs.popFirst() else {
        defer { (state.outcomes, state.ticks) = ([], 0) }
        if state.jobs.first == nil { state.ticksOfAll = 0 }
        return .report(state.outcomes)
      }
      state.running = Running(owner: job.owner)
      return .job(job)
    }
  }

  /// Notes that time has passed; what takes too long, or `nil`: the thread is in no job.
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

  /// Takes away the jobs that wait behind those that take too long together, but for those of the owner whose job is
  /// being done: those are done in order, by the same thread.
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

  /// Takes the list away from a thread that is in a job.
  ///
  /// - Returns: Whose job it is, and what else is to be done for it; `nil`: it is in none any more.
  func relieve() -> (owner: Job.Owner?, jobs: [Job])? {
    state.withLock { state in
      guard let running = state.running.take() else { return nil }
      state.turn = nil
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
