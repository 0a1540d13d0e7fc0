import DequeModule
import SharedStateDependencies
import Synchronization

/// The jobs of a link, which its thread runs one by one.
///
/// The list has a lock of its own, so that the thread competes with callers that change values for the link's lock only
/// once for each batch of jobs. Where both locks are taken, the link's comes first.
final class JobList: Sendable {
  enum Next: Sendable {
    case job(Job)
    /// Outcomes for the state machines, to be reported before the jobs that follow from them. The rest has to wait,
    /// because the jobs have kept the thread from everything else for long enough.
    case report([Job.Outcome], rest: [Job])
    /// Another thread has taken over the list. The outcome of the last job is not in it.
    case lost
  }

  /// How long jobs may keep the thread from everything else, as long as no single one takes longer.
  static let slice = Duration.milliseconds(5)

  private struct Running: Sendable {
    let owner: Job.Owner?
    /// How many ticks in a row have found this job running.
    var ticks = 0
    /// How long its thread had waited for a processor at the first of these ticks.
    var runDelay: Duration?
  }

  private struct State {
    /// The number of the thread that has the list.
    var turn: UInt64?
    var thread: SystemThread?
    /// Bounded by the jobs that one batch of replies leads to.
    var jobs = Deque<Job>()
    var outcomes: [Job.Outcome] = []
    var running: Running?
    /// When the present slice ends; `nil`: no job has run since the last report.
    var sliceEnd: Instant?
  }

  private let state = Mutex(State())

  /// Gives the list to its first thread, or to one that follows a thread that has ended.
  func begin(_ turn: UInt64) {
    state.withLock { ($0.turn, $0.thread) = (turn, nil) }
  }

  /// The thread with this number is this one.
  func enter(_ turn: UInt64, _ thread: SystemThread?) {
    state.withLock { if $0.turn == turn { $0.thread = thread } }
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
  func next(for turn: UInt64, after outcome: Job.Outcome?, now: Instant) -> Next {
    state.withLock { state in
      guard state.turn == turn else { return .lost }
      state.running = nil
      if let outcome { state.outcomes.append(outcome) }
      let sliceEnd = state.sliceEnd ?? now + Self.slice
      guard now < sliceEnd, let job = state.jobs.popFirst() else {
        defer { (state.outcomes, state.sliceEnd, state.jobs) = ([], nil, Deque()) }
        // To copy an empty deque writes to the storage that all empty arrays share.
        return .report(state.outcomes, rest: state.jobs.isEmpty ? [] : Array(state.jobs))
      }
      (state.running, state.sliceEnd) = (Running(owner: job.owner), sliceEnd)
      return .job(job)
    }
  }

  /// The thread that is running a job; `nil`: there is none, or it is unknown.
  var busyThread: SystemThread? { state.withLock { $0.running == nil ? nil : $0.thread } }

  /// Notes that time has passed, and returns whether the job that the thread is running takes too long; `nil`: it is
  /// not running one. Time in which the thread waited for a processor does not count.
  ///
  /// - Parameter runDelay: How long ``busyThread`` has waited for a processor, in total; `nil`: it is unknown.
  func tick(runDelay: Duration? = nil) -> Bool? {
    state.withLock { state in
      guard let running = state.running else { return nil }
      if let runDelay, let before = running.runDelay, runDelay - before > JobWatch.tick * running.ticks / 2 {
        state.running?.ticks = 0
      }
      if state.running?.ticks == 0 { state.running?.runDelay = runDelay }
      state.running?.ticks += 1
      return state.running?.ticks ?? 0 > JobWatch.patience
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
      (state.running, state.sliceEnd, state.turn, state.thread) = (nil, nil, turn, nil)
      guard let owner = running.owner else { return (nil, []) }
      var (its, others) = ([Job](), Deque<Job>())
      while let job = state.jobs.popFirst() {
        if job.owner == owner { its.append(job) } else { others.append(job) }
      }
      state.jobs = others
      return (owner, its)
    }
  }
}
