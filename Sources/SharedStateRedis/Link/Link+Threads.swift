import SharedStateDependencies
import Synchronization

/// The thread: asks its role for the next step, performs it, reports the result, and sleeps when the role waits.
extension Link {
  typealias Step = Role<OpenConnection>.Step
  typealias Report = Role<OpenConnection>.Report

  /// What the role waits for.
  struct Wait {
    /// `nil`: nothing but a wake-up.
    var connections: PerConnection<OpenConnection>?
    var until: Instant

    /// What the connections wait for.
    var interests: PerConnection<Interest?> { PerConnection { connections?[$0].connection.interest } }
  }

  func startThread(_ guarded: inout Guarded) {
    guard guarded.lacksThread, guarded.state.mayStartThread(now: .now) else { return }
    do throws(ThreadStarter.Refusal) {
      guarded.lastTurn += 1
      // The thread enters the list immediately.
      jobs.begin(guarded.lastTurn)
      try startThread(guarded.lastTurn, guarded.state.configuration)
      guarded.hasThread = true
    } catch {
      // Counts as a failed attempt to connect, so that it is tried again.
      let epoch = guarded.state.session.epoch
      guarded.state.failed(epoch: epoch, error: .outOfThreads(reason: error.reason), now: .now)
    }
  }

  /// The new thread waits for the lock of the link, which the caller holds.
  private func startThread(
    _ turn: UInt64,
    _ configuration: LinkState.Configuration
  ) throws(ThreadStarter.Refusal) {
    if let schedule {
      // Only the part of the writer's name in front of "@" is the same in every process.
      let label = configuration.writer.prefix { $0 != "@" }
      return schedule.start("link of \(label)") { [self] in await run(turn, on: schedule) }
    }
    try threads.start("redis-link", stackSize: CoderStack.size) { [self] in run(turn) }
  }

  /// The body of the thread. Runs until the role ends, or goes to another thread.
  private func run(_ turn: UInt64) {
    jobs.enter(turn, .current)
    var report = Report.nothing
    while let wait = serve(report, turn) { report = sleep(wait) }
  }

  /// Takes the steps of the role until it waits, and runs postponed jobs for a moment; `nil`: the thread ends, or has
  /// lost its role.
  private func serve(_ report: Report, _ turn: UInt64) -> Wait? {
    guard var wait = proceed(after: report, turn) else { return nil }
    guard guarded.withLock(\.hasPostponed) else { return wait }
    // Performs what follows from the jobs.
    wait.until = .past
    return performPostponed(turn) ? wait : nil
  }

  /// Takes the steps of the role until it waits; `nil`: the thread ends, or has lost its role.
  private func proceed(after report: Report, _ turn: UInt64) -> Wait? {
    // While connections are opened, nothing else looks at the deadlines.
    var deadlines: DeadlineWatch?
    defer { deadlines?.end() }
    var report = report
    while true {
      switch decide(after: report) {
      case .perform:
        guard let performed = performJobs(turn) else { return nil }
        report = performed
      case .connect where guarded.withLock(\.hasPostponed):
        guard performPostponed(turn) else { return nil }
        report = .nothing
      case .connect(let epoch):
        report = connect(epoch, &deadlines)
      case .exchange(let connections, let requests, let until):
        do throws(RedisSharedStateError) {
          // If one cannot send, the link takes the writer's requests for sent.
          for purpose in [ConnectionPurpose.writer, .subscriber] where !requests[purpose].isEmpty {
            try connections[purpose].connection.send(requests[purpose])
          }
          return Wait(connections: connections, until: until)
        } catch {
          report = .failed(error)
        }
      case .close(let connections):
        for open in connections.values { open.connection.close() }
        report = .nothing
      case .wait(let until): return Wait(until: until)
      case .end: return nil
      }
    }
  }

  /// Sleeps until the role has something to do.
  private func sleep(_ wait: Wait) -> Report {
    while true {
      let interests = wait.interests
      loan.offer()
      let arrived = Result { () throws(RedisSharedStateError) in try waker.wait(for: interests, until: wait.until) }
      loan.takeBack()
      switch arrived {
      case .success(let arrived): if let report = endWait(wait, arrived) { return report }
      case .failure(let error): return .failed(error)
      }
    }
  }

  /// The report of a role that has waited; `nil`: it continues to wait, because nothing has arrived that it could use
  /// yet.
  func endWait(_ wait: Wait, _ arrived: PerConnection<Bool>) -> Report? {
    let isOver = waker.clear() || wait.until <= .now
    guard let connections = wait.connections else { return isOver ? .nothing : nil }
    let arrivals = PerConnection { purpose in
      let connection = connections[purpose].connection
      // A wake-up may have come from the connection itself.
      return arrived[purpose] || connection.interest.isArrived ? connection.receive() : Arrivals()
    }
    return isOver || arrivals.values.contains(where: \.isOfUse) ? .arrived(arrivals) : nil
  }

  /// Runs jobs until there is something to report; `nil`: the thread has lost its role during one of them, and has
  /// done what remains for it to do.
  func performJobs(_ turn: UInt64) -> Report? {
    var (outcome, owner): (Job.Outcome?, Job.Owner?) = (nil, nil)
    while true {
      // The references of a job are released before the next one, so that a waiting thread keeps nothing alive.
      switch jobs.next(for: turn, after: outcome, now: .now) {
      case .job(let job):
        owner = job.owner
        outcome = perform(job)
      case .report(let outcomes, let rest):
        if !rest.isEmpty { postpone(rest) }
        return .performed(outcomes)
      case .lost:
        performLate(outcome, of: owner)
        return nil
      }
    }
  }

  private func postpone(_ jobs: [Job]) {
    // The dropped jobs are released after the lock.
    let (rest, _) = guarded.withLock { $0.postpone(jobs) }
    for job in rest { _ = perform(job) }
  }

  /// Runs postponed jobs for a moment. Returns whether the thread still has its role.
  func performPostponed(_ turn: UInt64) -> Bool {
    let end = Instant.now + JobList.slice
    var outcomes: [Job.Outcome] = []
    while true {
      let mayGoOn = Instant.now < end
      let (next, remaining, needsWatch) = guarded.withLock { guarded in
        var remaining = RemainingEffects()
        for outcome in outcomes { guarded.note(outcome, &remaining) }
        return (mayGoOn ? guarded.nextPostponedJob() : nil, remaining, schedule == nil && guarded.beginWatch())
      }
      wake(remaining)
      if needsWatch { JobWatch.shared.add(self) }
      guard let next else { return true }
      _ = jobs.append([next])
      guard case .performed(let more)? = performJobs(turn) else { return false }
      outcomes = more
    }
  }

  /// The rest of a thread that has lost its role during a job: runs the other jobs of its owner.
  private func performLate(_ outcome: Job.Outcome?, of owner: Job.Owner?) {
    var outcome = outcome
    while let job = nextLate(after: outcome, of: owner) { outcome = perform(job) }
  }

  private func connect(_ epoch: UInt64, _ deadlines: inout DeadlineWatch?) -> Report {
    var timeout = connectTimeout
    if deadlines == nil {
      do throws(ThreadStarter.Refusal) {
        deadlines = try DeadlineWatch(on: threads) { [self] in expireWaiters() }
      } catch {
        telemetry.threadRefused("redis-deadlines", error)
        // Without it, this thread has to look at the deadlines before each connection.
        timeout = min(timeout, DeadlineWatch.longestPause)
      }
    }
    do throws(RedisSharedStateError) {
      // A connection that is released is closed.
      let connections = try PerConnection { (purpose) throws(RedisSharedStateError) in
        guard goesOnConnecting(epoch) else { throw .stopped }
        let deadline = Instant.now + timeout
        return OpenConnection(
          connection: try connector.connect(purpose: purpose, pass: epoch, waker: waker, deadline: deadline)
        )
      }
      return .opened(connections, PerConnection { connections[$0].connection.facts })
    } catch {
      return .failed(error)
    }
  }

  /// Resumes the waiters whose deadline has passed, and returns whether the connections of this epoch are still wanted.
  func goesOnConnecting(_ epoch: UInt64) -> Bool {
    update { guarded in
      guarded.state.expireWaiters(now: .now)
      return guarded.state.session.isConnecting(epoch)
    }
  }

  /// Resumes the waiters whose deadline has passed, and returns the next deadline.
  func expireWaiters() -> Instant? {
    update { guarded in
      guarded.state.expireWaiters(now: .now)
      return guarded.state.waiters.earliestDeadline
    }
  }

  // MARK: What is next

  func decide(after report: Report) -> Step {
    let departed = takeDepartures()
    let (step, remaining, needsWatch) = guarded.withLock { guarded -> (Step, RemainingEffects, Bool) in
      var remaining = RemainingEffects()
      for id in departed { guarded.state.leave(id) }
      let step = nextStep(after: report, &guarded, &remaining)
      guard case .perform = step else { return (step, remaining, false) }
      return (step, remaining, schedule == nil && guarded.beginWatch())
    }
    // Another thread may wait by now.
    if case .end = step { return step }
    // The thread itself is awake.
    if remaining.wakesThread { waker.skipNextWait() }
    if needsWatch { JobWatch.shared.add(self) }
    if remaining.measures { measure() }
    return step
  }

  /// Looks, once a second at most, whether the program has set a metrics factory by now, and whether bytes have to be
  /// published that nothing else was counted with, such as those of a PING.
  private func measure() {
    guard telemetry.metrics.hasBackEnd else { return }
    let isDue = guarded.withLock { guarded in
      if !guarded.state.measurements.isWanted { guarded.state.measurements.begin() }
      if !telemetry.metrics.traffic.isEmpty { guarded.state.measurements.touch() }
      return guarded.state.measurements.isDue
    }
    if isDue { waker.skipNextWait() }
  }

  /// The next job of a thread that has lost its role.
  private func nextLate(after outcome: Job.Outcome?, of owner: Job.Owner?) -> Job? {
    let (next, remaining) = guarded.withLock { guarded -> (Job?, RemainingEffects) in
      var remaining = RemainingEffects()
      if let outcome { guarded.note(outcome, &remaining) }
      // Without an owner, no user code was called.
      return (owner.flatMap { guarded.nextJob(ofLate: $0, &remaining) }, remaining)
    }
    wake(remaining)
    return next
  }

  /// The next step of the role. Effects that only wake the thread, or that are set aside, take no step.
  private func nextStep(
    after report: Report,
    _ guarded: inout Guarded,
    _ remaining: inout RemainingEffects
  ) -> Step {
    var report = report
    while true {
      let now = Instant.now
      remaining.measures = guarded.isTimeToMeasure(at: now) || remaining.measures
      let step = guarded.role.next(after: report, in: &guarded.state, now: now)
      if case .connect = step { guarded.isConnecting = true } else { guarded.isConnecting = false }
      guard case .perform(let effects) = step else { return guarded.end(at: step) }
      remaining.add(effects)
      guarded.setAside(&remaining)
      let hasJobs = jobs.append(remaining.jobs)
      remaining.jobs = []
      if hasJobs { return .perform([]) }
      report = .performed([])
    }
  }

  /// Called at each tick: hands the role to another thread if a job takes too long. Where that thread cannot be
  /// started, it stays where it is until the next tick.
  ///
  /// - Returns: Whether to look again.
  func checkJobs() -> Bool {
    // Read from a file, so not under a lock.
    let runDelay = jobs.busyThread?.runDelay
    let (isBusy, refusal, remaining) = guarded.withLock { guarded -> (Bool, ThreadStarter.Refusal?, RemainingEffects) in
      var (remaining, refusal) = (RemainingEffects(), ThreadStarter.Refusal?.none)
      let isTooLong = jobs.tick(runDelay: runDelay)
      do throws(ThreadStarter.Refusal) {
        if isTooLong == true { try relieve(&guarded, &remaining) }
      } catch {
        refusal = error
      }
      startThread(&guarded)
      guarded.noteHeldUp(by: refusal, now: .now, &remaining)
      // No other thread performs them.
      if !guarded.hasThread || guarded.heldUp != nil { takeEffects(of: &guarded, isBehind: false, into: &remaining) }
      let isBusy = isTooLong != nil || guarded.lacksThread
      return (guarded.goesOnWatching(isBusy: isBusy), refusal, remaining)
    }
    if let refusal { telemetry.threadRefused("redis-link", refusal) }
    perform(remaining)
    return isBusy
  }

  /// Gives the role of a thread that a job holds up to a new thread.
  private func relieve(_ guarded: inout Guarded, _ remaining: inout RemainingEffects) throws(ThreadStarter.Refusal) {
    let turn = guarded.lastTurn + 1
    let configuration = guarded.state.configuration
    let relieved = try jobs.relieve(by: turn) { () throws(ThreadStarter.Refusal) in
      try startThread(turn, configuration)
    }
    guard let relieved else { return }
    guarded.lastTurn = turn
    guard let owner = relieved.owner else { return }
    if case .value(let id) = owner { guarded.state.keptBack(id) }
    if guarded.served == owner {
      // The job was a postponed one.
      guarded.served = nil
    } else {
      guarded.slow[owner, default: SlowOwner()].hasThread = true
    }
    remaining.jobs = relieved.jobs
    guarded.setAside(&remaining)
  }
}

extension Link.Guarded {
  /// Takes the outcome of a job, whichever thread has performed it.
  mutating func note(_ outcome: Job.Outcome, _ remaining: inout RemainingEffects) {
    role.note(outcome, in: &state, now: .now)
    // The thread sends the request.
    if case .encoded = outcome { remaining.wakesThread = true }
  }

  /// Whether the link's thread has left effects that it performs next.
  var hasLeftEffects: Bool { hasActiveThread && state.hasEffects }

  /// Whether a thread will soon perform what is left for it.
  var hasActiveThread: Bool { hasThread && !isConnecting }

  /// Whether there are postponed jobs for the thread.
  fileprivate var hasPostponed: Bool { served != nil || postponed.first != nil }

  /// Ends the thread if its role does and there are no postponed jobs. Decided under the lock, so that the next caller
  /// that needs the server starts a new thread.
  fileprivate mutating func end(at step: Link.Step) -> Link.Step {
    guard case .end = step else { return step }
    if hasPostponed { return .wait(until: .never) }
    hasThread = false
    return .end
  }

  /// Whether it is time to look after the metrics, at most once a second.
  fileprivate mutating func isTimeToMeasure(at now: Instant) -> Bool {
    guard measureAt <= now else { return false }
    measureAt = now + .seconds(1)
    return true
  }

  // MARK: The watch

  /// Whether the role has no thread, although it needs one: it was not needed before, or the system has refused it.
  var lacksThread: Bool { !hasThread && state.session.phase != .idle && state.session.phase != .stopped }

  /// Notes whether a job keeps the role because no other thread can be started. After a second, the `loadError` of
  /// every value says so.
  fileprivate mutating func noteHeldUp(
    by refusal: ThreadStarter.Refusal?,
    now: Instant,
    _ remaining: inout RemainingEffects
  ) {
    guard let refusal else {
      if heldUp.take()?.isReported == true { state.heldUp(by: nil) }
      return wakeForEffects(&remaining)
    }
    let known = heldUp ?? (since: now, isReported: false)
    heldUp = (known.since, known.isReported || known.since + .seconds(1) <= now)
    if heldUp?.isReported == true, !known.isReported { state.heldUp(by: .outOfThreads(reason: refusal.reason)) }
    // The thread that is held up does not look at the deadlines.
    state.expireWaiters(now: now)
    wakeForEffects(&remaining)
  }

  func wakeForEffects(_ remaining: inout RemainingEffects) {
    if state.hasEffects { remaining.wakesThread = true }
  }

  /// Notes that there are jobs, and returns whether ``JobWatch`` has to begin to watch.
  mutating func beginWatch() -> Bool {
    batches &+= 1
    guard watched == nil else { return false }
    watched = (batches, 0)
    return true
  }

  /// Whether to continue watching: there was a job since the last tick, or within the last few ticks before it.
  fileprivate mutating func goesOnWatching(isBusy: Bool) -> Bool {
    guard let last = watched else { return false }
    let idleTicks = isBusy || last.batches != batches ? 0 : last.idleTicks + 1
    watched = idleTicks < JobWatch.lingering ? (batches, idleTicks) : nil
    return watched != nil
  }
}
