import SharedStateDependencies
import Synchronization

/// The threads: each asks for its next step, performs it, and reports the result.
extension Link {
  typealias Step = Role<OpenConnection>.Step
  typealias Report = Role<OpenConnection>.Report

  func startThreads(_ guarded: inout Guarded) {
    guard guarded.lacksThread, guarded.state.mayStartThread(now: .now) else { return }
    for purpose in ConnectionPurpose.allCases where guarded.roles[purpose].begin(in: guarded.state) {
      guarded.lastTurn += 1
      do throws(ThreadStarter.Refusal) {
        try startThread(purpose, guarded.lastTurn, guarded.state.configuration)
        jobs[purpose].begin(guarded.lastTurn)
      } catch {
        guarded.roles[purpose].refused(error.reason, in: &guarded.state, now: .now)
      }
    }
  }

  /// The new thread waits for the lock of the link, which the caller holds.
  private func startThread(
    _ purpose: ConnectionPurpose,
    _ turn: UInt64,
    _ configuration: LinkState.Configuration
  ) throws(ThreadStarter.Refusal) {
    if let schedule {
      // Only the part of the writer's name in front of "@" is the same in every process.
      let label = configuration.writer.prefix { $0 != "@" }
      return schedule.start("\(purpose.rawValue) of \(label)") { [self] in
        await run(purpose, turn, on: schedule)
      }
    }
    try threads.start("redis-\(purpose.rawValue)", stackSize: Self.stackSize) { [self] in run(purpose, turn) }
  }

  private func startHelper(_ guarded: inout Guarded) throws(ThreadStarter.Refusal) {
    try threads.start("redis-helper", stackSize: Self.stackSize) { [self] in performLate(nil, of: nil, isHelper: true) }
    guarded.backlog.beginHelper()
  }

  /// Decoding a deeply nested document recurses; half a megabyte overflows before the decoder stops.
  private static let stackSize = 2 << 20

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
    var (watch, timeout) = (DeadlineWatch?.none, connectTimeout)
    if purpose == .writer {
      do throws(ThreadStarter.Refusal) {
        // Replaces the writer's thread, which watches the deadlines when it is not connecting.
        watch = try DeadlineWatch(on: threads) { [self] in expireWaiters() }
      } catch {
        self.watch.threadRefused("redis-deadlines", error)
        // Without it, the writer's thread has to look at the deadlines between attempts.
        timeout = min(timeout, DeadlineWatch.longestPause)
      }
    }
    defer { watch?.end() }
    do throws(RedisSharedStateError) {
      let connection = try connector.connect(purpose: purpose, waker: waker, deadline: .now + timeout)
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
      // One of the two threads may have been refused.
      startThreads(&guarded)
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
  /// Where that thread cannot be started, they stay where they are until the next tick.
  ///
  /// - Returns: Whether to look again.
  func checkJobs() -> Bool {
    let (isBusy, refused, todo) = guarded.withLock { guarded -> (Bool, RefusedThread?, Todo) in
      var (todo, isBusy) = (Todo(), false)
      var (refused, isHeldUp) = (RefusedThread?.none, false)
      for purpose in ConnectionPurpose.allCases {
        guard let delay = jobs[purpose].tick() else { continue }
        isBusy = true
        do throws(ThreadStarter.Refusal) {
          switch delay {
          case .none: break
          case .ofMany:
            if !guarded.backlog.hasHelper { try startHelper(&guarded) }
            guarded.leaveToHelpers(jobs[purpose].takeRest(), &todo)
          case .ofOne: try relieve(purpose, &guarded, &todo)
          }
        } catch {
          refused = RefusedThread(name: "redis-\(delay == .ofMany ? "helper" : purpose.rawValue)", refusal: error)
          isHeldUp = isHeldUp || delay == .ofOne
        }
      }
      if guarded.backlog.needsHelper() {
        do throws(ThreadStarter.Refusal) {
          try startHelper(&guarded)
        } catch {
          refused = RefusedThread(name: "redis-helper", refusal: error)
        }
      }
      startThreads(&guarded)
      guarded.noteHeldUp(by: isHeldUp ? refused?.refusal : nil, now: .now, &todo)
      // Nobody else performs them.
      if !guarded.isServed { takeEffects(of: &guarded, into: &todo) }
      isBusy = isBusy || guarded.lacksThread || !guarded.backlog.isEmpty
      return (guarded.goesOnWatching(isBusy: isBusy), refused, todo)
    }
    if let refused { watch.threadRefused(refused.name, refused.refusal) }
    perform(todo)
    return isBusy
  }

  /// Gives the role of a thread that a job keeps to a new thread.
  private func relieve(
    _ purpose: ConnectionPurpose,
    _ guarded: inout Guarded,
    _ todo: inout Todo
  ) throws(ThreadStarter.Refusal) {
    let turn = guarded.lastTurn + 1
    let configuration = guarded.state.configuration
    let relieved = try jobs[purpose].relieve(by: turn) { () throws(ThreadStarter.Refusal) in
      try startThread(purpose, turn, configuration)
    }
    guard let relieved else { return }
    guarded.lastTurn = turn
    guard let owner = relieved.owner else { return }
    guarded.slow[owner, default: SlowOwner()].threads += 1
    todo.jobs = relieved.jobs
    guarded.setAside(&todo)
  }

  /// A thread that the system has not started.
  private struct RefusedThread {
    let name: String
    let refusal: ThreadStarter.Refusal
  }
}

extension Link.Guarded {
  fileprivate mutating func noteLate(_ outcome: Job.Outcome, _ todo: inout Todo) {
    roles[.writer].note(outcome, in: &state, now: .now)
    // The thread that has the role now sends the request.
    if case .encoded = outcome { todo.wakesWriter = true }
  }

  // MARK: The watch

  /// Whether a role has no thread, although it needs one: it was not needed before, or the system has refused it.
  var lacksThread: Bool {
    guard !roles[.writer].isTaken || !roles[.subscriber].isTaken else { return false }
    return state.session.phase != .idle && state.session.phase != .stopped
  }

  /// Whether any role has a thread.
  fileprivate var isServed: Bool { roles[.writer].isTaken || roles[.subscriber].isTaken }

  /// Notes whether a job keeps a role because no other thread can be started. After a second, the values say so.
  fileprivate mutating func noteHeldUp(by refusal: ThreadStarter.Refusal?, now: Instant, _ todo: inout Todo) {
    guard let refusal else {
      if heldUp.take()?.isTold == true { state.heldUp(by: nil) }
      return wakeForEffects(&todo)
    }
    let known = heldUp ?? (since: now, isTold: false)
    heldUp = (known.since, known.isTold || known.since + .seconds(1) <= now)
    if heldUp?.isTold == true, !known.isTold { state.heldUp(by: .outOfThreads(reason: refusal.reason)) }
    // The thread that is kept does not look at the deadlines.
    state.expireWaiters(now: now)
    wakeForEffects(&todo)
  }

  private func wakeForEffects(_ todo: inout Todo) {
    guard state.hasEffects else { return }
    (todo.wakesWriter, todo.wakesSubscriber) = (true, true)
  }

  /// Notes that there are jobs, and returns whether ``JobWatch`` has to be told to watch.
  mutating func beginWatch() -> Bool {
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
