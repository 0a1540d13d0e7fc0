import Foundation
import SharedStateDependencies
import Synchronization

/// The threads: each asks for its next step, performs it, and reports the result.
extension Link {
  typealias Step = Role<OpenConnection>.Step
  typealias Report = Role<OpenConnection>.Report

  func startThreads(_ guarded: inout Guarded) {
    guard !guarded.roles[.writer].isTaken || !guarded.roles[.subscriber].isTaken else { return }
    for purpose in ConnectionPurpose.allCases where guarded.roles[purpose].begin(in: guarded.state) {
      startThread(purpose, &guarded)
    }
  }

  private func startThread(_ purpose: ConnectionPurpose, _ guarded: inout Guarded) {
    guarded.lastTurn += 1
    let turn = guarded.lastTurn
    jobs[purpose].begin(turn)
    if let schedule {
      // Only the part of the writer's name in front of "@" is the same in every process.
      let label = guarded.state.configuration.writer.prefix { $0 != "@" }
      return schedule.start("\(purpose.rawValue) of \(label)") { [self] in
        await run(purpose, turn, on: schedule)
      }
    }
    let thread = Thread { [self] in run(purpose, turn) }
    thread.name = "redis-\(purpose.rawValue)"
    start(thread)
  }

  private func startHelper() {
    let thread = Thread { [self] in performLate(nil, of: nil, isHelper: true) }
    thread.name = "redis-helper"
    start(thread)
  }

  private func start(_ thread: Thread) {
    // Decoding a deeply nested document recurses; half a megabyte, the default, overflows before the decoder stops.
    thread.stackSize = 2 << 20
    thread.start()
  }

  /// The body of a thread that has a role. Runs until the thread ends or loses the role.
  private func run(_ purpose: ConnectionPurpose, _ turn: UInt64) {
    let waker = wakers[purpose]
    var report = Report.nothing
    while true {
      switch decide(purpose, after: report) {
      case .perform:
        guard let performed = performJobs(of: purpose, turn) else { return }
        report = performed
      case .wait(let until):
        waker.wait(until: until)
        report = .nothing
      case .connect:
        report = connect(purpose, waker)
      case .exchange(let open, let requests, let until):
        report = exchange(requests, on: open, until: until)
      case .close(let open):
        open.connection.close()
        report = .nothing
      case .end:
        return
      }
    }
  }

  /// Runs jobs until there is something to report; `nil`: the thread has lost its role during one of them, and has done
  /// what remains for it to do.
  func performJobs(of purpose: ConnectionPurpose, _ turn: UInt64) -> Report? {
    let list = jobs[purpose]
    var (outcome, owner): (Job.Outcome?, Job.Owner?) = (nil, nil)
    while true {
      // The references of a job are released before the next one, so that a waiting thread keeps nothing alive.
      switch list.next(for: turn, after: outcome) {
      case .job(let job):
        owner = job.owner
        outcome = perform(job)
      case .report(let outcomes, let isDone): return .performed(outcomes, isDone: isDone)
      case .lost:
        performLate(outcome, of: owner)
        return nil
      }
    }
  }

  /// The rest of a thread that has lost its role during a job, or the body of a helper, which never had a role. Runs
  /// the jobs of one owner; a helper goes on with other owners.
  private func performLate(_ outcome: Job.Outcome?, of owner: Job.Owner?, isHelper: Bool = false) {
    var (outcome, owner) = (outcome, owner)
    while let (job, next) = nextLate(after: outcome, of: owner, isHelper: isHelper) {
      owner = next
      outcome = perform(job)
    }
  }

  private func connect(_ purpose: ConnectionPurpose, _ waker: Waker) -> Report {
    // Replaces the writer's thread, which watches the deadlines when it is not connecting.
    let watch = purpose == .writer ? DeadlineWatch { [self] in expireWaiters() } : nil
    defer { watch?.end() }
    do throws(RedisSharedStateError) {
      let connection = try connector.connect(purpose: purpose, waker: waker, deadline: .now + connectTimeout)
      return .opened(OpenConnection(connection: connection), connection.facts)
    } catch {
      return .failed(error)
    }
  }

  /// Resumes the waiters whose deadline has passed, and returns the next deadline.
  func expireWaiters() -> Instant? {
    update { guarded in
      guarded.state.expireWaiters(now: .now)
      return guarded.state.waiters.earliestDeadline
    }
  }

  private func exchange(
    _ requests: [RedisRequest],
    on open: OpenConnection,
    until deadline: Instant
  ) -> Report {
    do throws(RedisSharedStateError) {
      if !requests.isEmpty { try open.connection.send(requests) }
      let events = try open.connection.receive(until: deadline)
      return .arrived(events, hasHeard: open.connection.hasHeard)
    } catch {
      return .failed(error)
    }
  }

  // MARK: What is next

  func decide(_ purpose: ConnectionPurpose, after report: Report) -> Step {
    let departed = takeDepartures()
    let (step, todo, needsWatch) = guarded.withLock { guarded -> (Step, Todo, Bool) in
      var todo = Todo()
      for id in departed { guarded.state.leave(id) }
      let step = nextStep(for: purpose, after: report, &guarded, &todo)
      guard case .perform = step else { return (step, todo, false) }
      return (step, todo, schedule == nil && guarded.beginWatch())
    }
    wake(todo)
    if needsWatch { JobWatch.shared.add(self) }
    return step
  }

  /// The next job of a thread without a role, and the owner of that job.
  private func nextLate(
    after outcome: Job.Outcome?,
    of owner: Job.Owner?,
    isHelper: Bool
  ) -> (Job, Job.Owner)? {
    let (next, todo) = guarded.withLock { guarded -> ((Job, Job.Owner)?, Todo) in
      var todo = Todo()
      if let outcome { guarded.noteLate(outcome, &todo) }
      // Without an owner, no code of the program was called, and there is nothing to set aside.
      if let owner {
        takeEffects(of: &guarded, into: &todo)
        guarded.setAside(&todo, behind: owner)
        // Jobs of other owners may be among them. They do not change the owner that this thread works for.
        if let job = guarded.nextJob(ofSlow: owner) { return ((job, owner), todo) }
      }
      guard isHelper else { return (nil, todo) }
      let next = guarded.nextJobOfBacklog()
      if next == nil { guarded.backlog.endHelper() }
      return (next, todo)
    }
    wake(todo)
    return next
  }

  /// The next step of the thread that has a role. Effects that only wake threads, or that are set aside, take no step.
  private func nextStep(
    for purpose: ConnectionPurpose,
    after report: Report,
    _ guarded: inout Guarded,
    _ todo: inout Todo
  ) -> Step {
    var report = report
    while true {
      let step = guarded.roles[purpose].next(after: report, in: &guarded.state, now: .now)
      guard case .perform(let effects) = step else { return step }
      add(effects, of: guarded.state, to: &todo)
      guarded.setAside(&todo)
      let hasJobs = jobs[purpose].append(todo.jobs)
      todo.jobs = []
      if hasJobs { return .perform([]) }
      report = .performed([], isDone: true)
    }
  }

  /// Called at each tick: looks for jobs that take too long, alone or together, and hands the others to another thread.
  ///
  /// - Returns: Whether to look again.
  func checkJobs() -> Bool {
    let (isBusy, todo) = guarded.withLock { guarded -> (Bool, Todo) in
      var todo = Todo()
      var isBusy = false
      for purpose in ConnectionPurpose.allCases {
        guard let delay = jobs[purpose].tick() else { continue }
        isBusy = true
        switch delay {
        case .none: break
        case .ofMany: guarded.leaveToHelpers(jobs[purpose].takeRest(), &todo)
        case .ofOne:
          guard let (owner, jobs) = jobs[purpose].relieve() else { continue }
          if let owner {
            guarded.slow[owner, default: SlowOwner()].threads += 1
            todo.jobs = jobs
            guarded.setAside(&todo)
          }
          startThread(purpose, &guarded)
        }
      }
      if guarded.backlog.needsHelper() { startHelper() }
      isBusy = isBusy || !guarded.backlog.isEmpty
      return (guarded.goesOnWatching(isBusy: isBusy), todo)
    }
    withExtendedLifetime(todo) {}
    return isBusy
  }
}

extension Link.Guarded {
  fileprivate mutating func noteLate(_ outcome: Job.Outcome, _ todo: inout Todo) {
    roles[.writer].note(outcome, in: &state, now: .now)
    // The thread that has the role now sends the request.
    if case .encoded = outcome { todo.wakesWriter = true }
  }

  // MARK: The watch

  /// Notes that there are jobs, and returns whether ``JobWatch`` has to be told to watch.
  fileprivate mutating func beginWatch() -> Bool {
    batches &+= 1
    guard watched == nil else { return false }
    watched = (batches, 0)
    return true
  }

  /// Whether to go on watching: there was a job since the last tick, or within the last few ticks before it.
  fileprivate mutating func goesOnWatching(isBusy: Bool) -> Bool {
    guard let last = watched else { return false }
    let idleTicks = isBusy || last.batches != batches ? 0 : last.idleTicks + 1
    watched = idleTicks < JobWatch.lingering ? (batches, idleTicks) : nil
    return watched != nil
  }
}
