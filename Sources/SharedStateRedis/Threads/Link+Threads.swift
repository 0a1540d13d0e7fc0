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

  func startThread(_ guarded: inout Guarded, _ todo: inout Todo) {
    guard guarded.lacksThread, guarded.state.mayStartThread(now: .now) else { return }
    let begun = ConnectionPurpose.allCases.filter { guarded.roles[$0].begin(in: guarded.state) }
    // It was about to end.
    guard !guarded.hasThread else { return (todo.wakesWriter, todo.wakesSubscriber) = (true, true) }
    do throws(ThreadStarter.Refusal) {
      guarded.lastTurn += 1
      // The thread enters the list at once.
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
  /// goes on.
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

  /// The report of a role that has waited; `nil`: it goes on waiting, because nothing has arrived that it could use yet.
  func report(of purpose: ConnectionPurpose, _ waits: inout PerConnection<Wait>) -> Report? {
    let report = report(of: waits[purpose])
    // The end of the subscriber's connection ends the writer's too, so the replies that have arrived there come first.
    // Nothing is sent in between: it would be in doubt at once.
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

  /// Runs jobs until there is something to report; `nil`: the thread has lost its roles during one of them, and has done
  /// what remains for it to do.
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
      let (next, todo, needsWatch) = guarded.withLock { guarded in
        var todo = Todo()
        for outcome in outcomes { guarded.note(outcome, &todo) }
        return (mayGoOn ? guarded.nextPostponedJob() : nil, todo, schedule == nil && guarded.beginWatch())
      }
      wake(todo)
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
        watch.threadRefused("redis-deadlines", error)
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
    let (step, todo, needsWatch) = guarded.withLock { guarded -> (Step, Todo, Bool) in
      var todo = Todo()
      for id in departed { guarded.state.leave(id) }
      startThread(&guarded, &todo)
      var report = report
      // The subscriber may report what was left of the writer's jobs by another thread.
      if purpose == .subscriber, case .performed(let outcomes) = report {
        for outcome in outcomes { guarded.note(outcome, &todo) }
        report = .performed([])
      }
      let step = nextStep(for: purpose, after: report, &guarded, &todo)
      guard case .perform = step else { return (step, todo, false) }
      return (step, todo, schedule == nil && guarded.beginWatch())
    }
    // The thread itself is awake.
    if todo.wakesWriter { note(wakeOf: .writer) }
    if todo.wakesSubscriber { note(wakeOf: .subscriber) }
    if needsWatch { JobWatch.shared.add(self) }
    if todo.measures { measure() }
    return step
  }

  /// Looks, once a second at most, whether the program has set a metrics factory by now, and whether bytes have to be
  /// published that nothing else was counted with, such as those of a PING.
  private func measure() {
    guard watch.metrics.hasBackEnd else { return }
    let isDue = guarded.withLock { guarded in
      if !guarded.state.measurements.isWanted { guarded.state.measurements.begin() }
      if !watch.metrics.traffic.isEmpty { guarded.state.measurements.touch() }
      return guarded.state.measurements.isDue
    }
    if isDue { note(wakeOf: .writer) }
  }

  /// The next job of a thread that has lost its roles.
  private func nextLate(after outcome: Job.Outcome?, of owner: Job.Owner?) -> Job? {
    // Without an owner, no code of the program was called, and there is nothing to set aside.
    let (next, todo) = guarded.withLock { guarded -> (Job?, Todo) in
      var todo = Todo()
      if let outcome { guarded.note(outcome, &todo) }
      guard let owner else { return (nil, todo) }
      takeEffects(of: &guarded, into: &todo)
      guarded.setAside(&todo, behind: owner)
      // Jobs of other owners may be among them. They do not change the owner that this thread works for.
      return (guarded.nextJob(ofSlow: owner), todo)
    }
    wake(todo)
    return next
  }

  /// The next step of a role. Effects that only wake the thread, or that are set aside, take no step.
  private func nextStep(
    for purpose: ConnectionPurpose,
    after report: Report,
    _ guarded: inout Guarded,
    _ todo: inout Todo
  ) -> Step {
    var report = report
    while true {
      let now = Instant.now
      todo.measures = guarded.isTimeToMeasure(at: now) || todo.measures
      let step = guarded.roles[purpose].next(after: report, in: &guarded.state, now: now)
      guard case .perform(let effects) = step else { return step }
      add(effects, of: guarded.state, to: &todo)
      guarded.setAside(&todo)
      let hasJobs = jobs.append(todo.jobs)
      todo.jobs = []
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
    let (isBusy, refusal, todo) = guarded.withLock { guarded -> (Bool, ThreadStarter.Refusal?, Todo) in
      var (todo, refusal) = (Todo(), ThreadStarter.Refusal?.none)
      let isTooLong = jobs.tick(runDelay: runDelay)
      do throws(ThreadStarter.Refusal) {
        if isTooLong == true { try relieve(&guarded, &todo) }
      } catch {
        refusal = error
      }
      startThread(&guarded, &todo)
      guarded.noteHeldUp(by: refusal, now: .now, &todo)
      // Nobody else performs them.
      if !guarded.hasThread || guarded.heldUp != nil { takeEffects(of: &guarded, into: &todo) }
      let isBusy = isTooLong != nil || guarded.lacksThread
      return (guarded.goesOnWatching(isBusy: isBusy), refusal, todo)
    }
    if let refusal { watch.threadRefused("redis-link", refusal) }
    perform(todo)
    return isBusy
  }

  /// Gives the roles of the thread that a job keeps to a new thread.
  private func relieve(_ guarded: inout Guarded, _ todo: inout Todo) throws(ThreadStarter.Refusal) {
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
    todo.jobs = relieved.jobs
    guarded.setAside(&todo)
  }
}

extension Link.Guarded {
  /// Takes the outcome of a job, whichever role or thread has performed it.
  mutating func note(_ outcome: Job.Outcome, _ todo: inout Todo) {
    roles[.writer].note(outcome, in: &state, now: .now)
    // Its connection sends the request.
    if case .encoded = outcome { todo.wakesWriter = true }
  }

  /// Whether there are postponed jobs for the thread.
  fileprivate var hasPostponed: Bool { served != nil || postponed.first != nil }

  /// Whether the thread ends, because neither role is needed. Decided under the lock, so that the next caller that needs
  /// the server starts a new thread.
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

  /// Notes whether a job keeps the roles because no other thread can be started. After a second, the values say so.
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
