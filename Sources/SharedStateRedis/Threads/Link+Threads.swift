import SharedStateDependencies
import Synchronization

/// The thread: asks each role for its next step, performs it, reports the result, and sleeps when both roles wait.
extension Link {
  typealias Step = Role<OpenConnection>.Step
  typealias Report = Role<OpenConnection>.Report

  /// What a role waits for, and what has ended the wait.
  struct Wait {
    /// `nil`: nothing but a wake-up.
    var connection: (any RedisConnection)?
    var until: Instant
    /// Whether something has arrived on the connection.
    var hasArrived = false
    /// Whether the role was woken, or has waited for long enough.
    var isOver = false
    /// Why the system does not wait for the connection.
    var failure: RedisSharedStateError?

    /// A new thread has waited for nothing.
    static var none: Wait { Wait(until: .past, isOver: true) }
  }

  func startThread(_ guarded: inout Guarded, _ remaining: inout RemainingEffects) {
    guard guarded.lacksThread, guarded.state.mayStartThread(now: .now) else { return }
    let begun = ConnectionPurpose.allCases.filter { guarded.roles[$0].begin(in: guarded.state) }
    // It was about to end.
    guard !guarded.hasThread else { return (remaining.wakesWriter, remaining.wakesSubscriber) = (true, true) }
    do throws(ThreadStarter.Refusal) {
      guarded.lastTurn += 1
      // The thread enters the list immediately.
      jobs.begin(guarded.lastTurn)
      try startThread(guarded.lastTurn, guarded.state.configuration)
      guarded.hasThread = true
    } catch {
      for purpose in begun { guarded.roles[purpose].refused(error.reason, in: &guarded.state, now: .now) }
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

  /// The body of the thread. Runs until the thread ends or loses the roles. What it has not passed to a role by then
  /// would be lost, so it receives nothing before that role's turn.
  private func run(_ turn: UInt64) {
    jobs.enter(turn, .current)
    var waits = PerConnection { _ in Wait.none }
    while serve(&waits, turn) { sleep(&waits) }
  }

  /// Takes the steps of both roles until they wait, and runs postponed jobs for a moment. Returns whether the thread
  /// continues.
  private func serve(_ waits: inout PerConnection<Wait>, _ turn: UInt64) -> Bool {
    // While a connection is opened, nothing else looks at the deadlines.
    var deadlines: DeadlineWatch?
    defer { deadlines?.end() }
    // What has arrived comes before what is to be sent.
    for purpose in [ConnectionPurpose.subscriber, .writer] {
      guard let report = report(of: purpose, &waits) else { continue }
      guard let wait = proceed(purpose, after: report, turn, &deadlines) else { return false }
      waits[purpose] = wait
    }
    guard guarded.withLock(\.hasPostponed) else { return true }
    // Performs what follows from the jobs.
    waits[.writer].until = .past
    return performPostponed(turn)
  }

  /// Whether the thread ends.
  func endThread() -> Bool { guarded.withLock { $0.endThread() } }

  /// Takes the steps of a role until it waits; `nil`: the thread ends, or has lost its roles.
  private func proceed(
    _ purpose: ConnectionPurpose,
    after report: Report,
    _ turn: UInt64,
    _ deadlines: inout DeadlineWatch?
  ) -> Wait? {
    var report = report
    while true {
      switch decide(purpose, after: report) {
      case .perform:
        guard let performed = performJobs(turn) else { return nil }
        report = performed
      case .connect where guarded.withLock(\.hasPostponed):
        guard performPostponed(turn) else { return nil }
        report = .nothing
      case .connect(let epoch):
        report = connect(purpose, epoch, &deadlines)
      case .exchange(let open, let requests, let until):
        do throws(RedisSharedStateError) {
          if !requests.isEmpty { try open.connection.send(requests) }
          return Wait(connection: open.connection, until: until)
        } catch {
          report = .failed(error)
        }
      case .close(let open):
        open.connection.close()
        report = .nothing
      case .wait(let until): return Wait(until: until)
      case .end: return endThread() ? nil : Wait(until: .never)
      }
    }
  }

  /// Sleeps until a role has something to do.
  private func sleep(_ waits: inout PerConnection<Wait>) {
    do throws(RedisSharedStateError) {
      let (interests, end) = (interests(of: waits), end(of: waits))
      loan.offer()
      defer { loan.takeBack() }
      note(try waker.wait(for: interests, until: end), in: &waits)
    } catch {
      for purpose in ConnectionPurpose.allCases { waits[purpose].failure = error }
    }
  }

  /// What the connections wait for.
  func interests(of waits: PerConnection<Wait>) -> PerConnection<Interest?> {
    PerConnection { waits[$0].connection?.interest }
  }

  /// Until when both roles wait.
  func end(of waits: PerConnection<Wait>) -> Instant {
    // The thread itself may have noted a wake-up.
    guard wakes.load(ordering: .sequentiallyConsistent) == 0 else { return .past }
    return min(waits[.writer].until, waits[.subscriber].until)
  }

  /// Notes which waits are over.
  func note(_ arrived: PerConnection<Bool>, in waits: inout PerConnection<Wait>) {
    waker.clear()
    let (woken, now) = (takeWakes(), Instant.now)
    for purpose in ConnectionPurpose.allCases {
      waits[purpose].hasArrived = arrived[purpose]
      waits[purpose].isOver = woken[purpose] || waits[purpose].until <= now
    }
  }

  /// The report of a role that has waited; `nil`: it continues to wait, because nothing has arrived that it could use
  /// yet.
  func report(of purpose: ConnectionPurpose, _ waits: inout PerConnection<Wait>) -> Report? {
    let report = report(of: waits[purpose])
    // The end of the subscriber's connection ends the writer's too, so the replies that have arrived there come first.
    // Nothing is sent in between: its outcome would be unknown immediately.
    if case .failed? = report, purpose == .subscriber, let replies = self.report(of: waits[.writer]) {
      (waits[.writer].hasArrived, waits[.writer].isOver) = (false, true)
      guarded.withLock { $0.roles[.writer].note(replies, in: &$0.state, now: .now) }
    }
    return report
  }

  private func report(of wait: Wait) -> Report? {
    guard let connection = wait.connection else { return wait.isOver ? .nothing : nil }
    if let failure = wait.failure { return .failed(failure) }
    guard wait.hasArrived else { return wait.isOver ? .arrived([], hasHeard: false) : nil }
    do throws(RedisSharedStateError) {
      let events = try connection.receive()
      let hasHeard = connection.hasHeard
      return wait.isOver || hasHeard || !events.isEmpty ? .arrived(events, hasHeard: hasHeard) : nil
    } catch {
      return .failed(error)
    }
  }

  /// Runs jobs until there is something to report; `nil`: the thread has lost its roles during one of them, and has
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

  /// Runs postponed jobs for a moment. Returns whether the thread still has its roles.
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

  /// The rest of a thread that has lost its roles during a job: runs the other jobs of its owner.
  private func performLate(_ outcome: Job.Outcome?, of owner: Job.Owner?) {
    var outcome = outcome
    while let job = nextLate(after: outcome, of: owner) { outcome = perform(job) }
  }

  private func connect(_ purpose: ConnectionPurpose, _ epoch: UInt64, _ deadlines: inout DeadlineWatch?) -> Report {
    var timeout = connectTimeout
    if deadlines == nil {
      do throws(ThreadStarter.Refusal) {
        deadlines = try DeadlineWatch(on: threads) { [self] in expireWaiters() }
      } catch {
        telemetry.threadRefused("redis-deadlines", error)
        // Without it, this thread has to look at the deadlines between attempts.
        timeout = min(timeout, DeadlineWatch.longestPause)
      }
    }
    do throws(RedisSharedStateError) {
      let connection = try connector.connect(purpose: purpose, pass: epoch, waker: waker, deadline: .now + timeout)
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

  // MARK: What is next

  func decide(_ purpose: ConnectionPurpose, after report: Report) -> Step {
    let departed = takeDepartures()
    let (step, remaining, needsWatch) = guarded.withLock { guarded -> (Step, RemainingEffects, Bool) in
      var remaining = RemainingEffects()
      for id in departed { guarded.state.leave(id) }
      startThread(&guarded, &remaining)
      var report = report
      // The subscriber may report what was left of the writer's jobs by another thread.
      if purpose == .subscriber, case .performed(let outcomes) = report {
        for outcome in outcomes { guarded.note(outcome, &remaining) }
        report = .performed([])
      }
      let step = nextStep(for: purpose, after: report, &guarded, &remaining)
      guard case .perform = step else { return (step, remaining, false) }
      return (step, remaining, schedule == nil && guarded.beginWatch())
    }
    // The thread itself is awake.
    if remaining.wakesWriter { note(wakeOf: .writer) }
    if remaining.wakesSubscriber { note(wakeOf: .subscriber) }
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
    if isDue { note(wakeOf: .writer) }
  }

  /// The next job of a thread that has lost its roles.
  private func nextLate(after outcome: Job.Outcome?, of owner: Job.Owner?) -> Job? {
    // Without an owner, no user code was called, and there is nothing to set aside.
    let (next, remaining) = guarded.withLock { guarded -> (Job?, RemainingEffects) in
      var remaining = RemainingEffects()
      if let outcome { guarded.note(outcome, &remaining) }
      guard let owner else { return (nil, remaining) }
      takeEffects(of: &guarded, into: &remaining)
      guarded.setAside(&remaining, behind: owner)
      guarded.wakeForEffects(&remaining)
      // Jobs of other owners may be among them. They do not change the owner that this thread works for.
      return (guarded.nextJob(ofSlow: owner), remaining)
    }
    wake(remaining)
    return next
  }

  /// The next step of a role. Effects that only wake the thread, or that are set aside, take no step.
  private func nextStep(
    for purpose: ConnectionPurpose,
    after report: Report,
    _ guarded: inout Guarded,
    _ remaining: inout RemainingEffects
  ) -> Step {
    var report = report
    while true {
      let now = Instant.now
      remaining.measures = guarded.isTimeToMeasure(at: now) || remaining.measures
      let step = guarded.roles[purpose].next(after: report, in: &guarded.state, now: now)
      guard case .perform(let effects) = step else { return step }
      add(effects, of: guarded.state, to: &remaining)
      guarded.setAside(&remaining)
      let hasJobs = jobs.append(remaining.jobs)
      remaining.jobs = []
      if hasJobs { return .perform([]) }
      report = .performed([])
    }
  }

  /// Called at each tick: hands the roles to another thread if a job takes too long. Where that thread cannot be
  /// started, they stay where they are until the next tick.
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
      startThread(&guarded, &remaining)
      guarded.noteHeldUp(by: refusal, now: .now, &remaining)
      // No other thread performs them.
      if !guarded.hasThread || guarded.heldUp != nil { takeEffects(of: &guarded, into: &remaining) }
      let isBusy = isTooLong != nil || guarded.lacksThread
      return (guarded.goesOnWatching(isBusy: isBusy), refusal, remaining)
    }
    if let refusal { telemetry.threadRefused("redis-link", refusal) }
    perform(remaining)
    return isBusy
  }

  /// Gives the roles of a thread that a job holds up to a new thread.
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
      guarded.slow[owner, default: SlowOwner()].threads += 1
    }
    remaining.jobs = relieved.jobs
    guarded.setAside(&remaining)
  }
}

extension Link.Guarded {
  /// Takes the outcome of a job, whichever role or thread has performed it.
  mutating func note(_ outcome: Job.Outcome, _ remaining: inout RemainingEffects) {
    roles[.writer].note(outcome, in: &state, now: .now)
    // Its connection sends the request.
    if case .encoded = outcome { remaining.wakesWriter = true }
  }

  /// Whether there are postponed jobs for the thread.
  fileprivate var hasPostponed: Bool { served != nil || postponed.first != nil }

  /// Whether the thread ends, because neither role is needed. Decided under the lock, so that the next caller that
  /// needs the server starts a new thread.
  fileprivate mutating func endThread() -> Bool {
    guard !roles[.writer].isTaken, !roles[.subscriber].isTaken, !hasPostponed else { return false }
    hasThread = false
    return true
  }

  /// Whether it is time to look after the metrics, at most once a second.
  fileprivate mutating func isTimeToMeasure(at now: Instant) -> Bool {
    guard measureAt <= now else { return false }
    measureAt = now + .seconds(1)
    return true
  }

  // MARK: The watch

  /// Whether a role has no thread, although it needs one: it was not needed before, or the system has refused it.
  var lacksThread: Bool {
    guard !roles[.writer].isTaken || !roles[.subscriber].isTaken else { return false }
    return state.session.phase != .idle && state.session.phase != .stopped
  }

  /// Notes whether a job keeps the roles because no other thread can be started. After a second, the `loadError` of
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
    guard state.hasEffects else { return }
    (remaining.wakesWriter, remaining.wakesSubscriber) = (true, true)
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
