import Foundation
import SharedStateDependencies
import Synchronization

/// The threads: each asks for its next step, performs it, and reports the result.
extension Link {
  /// An action that a thread performs without the lock.
  enum Step: Sendable {
    /// Run the jobs of the role.
    case perform
    case wait(until: Instant)
    case connect(epoch: UInt64)
    /// Send, then wait for something to arrive.
    case exchange(OpenConnection, [RedisRequest], until: Instant)
    case close(OpenConnection)
    case end
  }

  /// The result of a step.
  enum Report: Sendable {
    case nothing
    case done([JobOutcome])
    /// The thread has lost its role during a job of this owner.
    case late(JobOutcome?, Job.Owner?)
    case opened(OpenConnection)
    case failed(RedisSharedStateError, epoch: UInt64)
    case arrived([RedisEvent], hasHeard: Bool, epoch: UInt64)
  }

  func startThreads(_ guarded: inout Guarded) {
    guard guarded.roles[.writer].turn == nil || guarded.roles[.subscriber].turn == nil else { return }
    guard guarded.state.session.phase != .idle, guarded.state.session.phase != .stopped else { return }
    for purpose in ConnectionPurpose.allCases where guarded.roles[purpose].turn == nil {
      startThread(purpose, &guarded)
    }
  }

  private func startThread(_ purpose: ConnectionPurpose, _ guarded: inout Guarded) {
    guarded.lastTurn += 1
    let turn = guarded.lastTurn
    guarded.roles[purpose].turn = turn
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
      switch decide(purpose, turn, after: report) {
      case .perform:
        report = performJobs(of: purpose, turn)
        if case .late(let outcome, let owner) = report { return performLate(outcome, of: owner) }
      case .wait(let until):
        waker.wait(until: until)
        report = .nothing
      case .connect(let epoch):
        report = connect(purpose, waker, epoch: epoch)
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

  func performJobs(of purpose: ConnectionPurpose, _ turn: UInt64) -> Report {
    let list = jobs[purpose]
    var (outcome, owner): (JobOutcome?, Job.Owner?) = (nil, nil)
    while true {
      // The references of a job are released before the next one, so that a waiting thread keeps nothing alive.
      switch list.next(for: turn, after: outcome) {
      case .job(let job):
        owner = job.owner
        outcome = perform(job)
      case .report(let outcomes): return .done(outcomes)
      case .lost: return .late(outcome, owner)
      }
    }
  }

  /// The rest of a thread that has lost its role during a job, or the body of a helper, which never had a role. Runs
  /// the jobs of one owner; a helper goes on with other owners.
  private func performLate(_ outcome: JobOutcome?, of owner: Job.Owner?, isHelper: Bool = false) {
    var (outcome, owner) = (outcome, owner)
    while let (job, next) = nextLate(after: outcome, of: owner, isHelper: isHelper) {
      owner = next
      outcome = perform(job)
    }
  }

  private func connect(_ purpose: ConnectionPurpose, _ waker: Waker, epoch: UInt64) -> Report {
    // Replaces the writer's thread, which watches the deadlines when it is not connecting.
    let watch = purpose == .writer ? DeadlineWatch { [self] in expireWaiters() } : nil
    defer { watch?.end() }
    do throws(RedisSharedStateError) {
      let connection = try connector.connect(purpose: purpose, waker: waker, deadline: .now + connectTimeout)
      return .opened(OpenConnection(connection: connection, epoch: epoch))
    } catch {
      return .failed(error, epoch: epoch)
    }
  }

  /// Resumes the waiters whose deadline has passed, and returns the next deadline.
  func expireWaiters() -> Instant? {
    update { guarded in
      guarded.state.expireWaiters(now: .now)
      return guarded.state.deadlines.earliest
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
      return .arrived(events, hasHeard: open.connection.hasHeard, epoch: open.epoch)
    } catch {
      return .failed(error, epoch: open.epoch)
    }
  }

  // MARK: What is next

  func decide(_ purpose: ConnectionPurpose, _ turn: UInt64, after report: Report) -> Step {
    let departed = takeDepartures()
    let (step, todo, needsWatch) = guarded.withLock { guarded -> (Step, Todo, Bool) in
      var todo = Todo()
      for id in departed { guarded.state.leave(id) }
      guarded.note(report, for: purpose)
      let step = nextStep(for: purpose, &guarded, &todo)
      guard case .perform = step else { return (step, todo, false) }
      return (step, todo, schedule == nil && guarded.beginWatch())
    }
    wake(todo)
    if needsWatch { JobWatch.shared.add(self) }
    return step
  }

  /// The next job of a thread without a role, and the owner of that job.
  private func nextLate(
    after outcome: JobOutcome?,
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

  /// The next step of the thread that has a role. Jobs come first: waiters are resumed before anything else is done,
  /// and showing a value may lead to more jobs.
  private func nextStep(for purpose: ConnectionPurpose, _ guarded: inout Guarded, _ todo: inout Todo) -> Step {
    while true {
      takeEffects(of: &guarded, into: &todo)
      guarded.setAside(&todo)
      let hasJobs = jobs[purpose].append(todo.jobs)
      todo.jobs = []
      if hasJobs { return .perform }
      if let until = guarded.roles[purpose].waitUntil.take(), let connection = guarded.roles[purpose].connection {
        defer { guarded.roles[purpose].requests = [] }
        return .exchange(connection, guarded.roles[purpose].requests, until: until)
      }
      if let step = guarded.nextMove(for: purpose, &todo) { return step }
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
  /// Passes the result of a step to the state machines.
  fileprivate mutating func note(_ report: Link.Report, for purpose: ConnectionPurpose) {
    switch report {
    case .nothing, .late: break
    case .done(let outcomes):
      for outcome in outcomes { note(outcome) }
    case .opened(let open):
      roles[purpose].connection = open
      state.connected(purpose, open.connection.facts, epoch: open.epoch, now: .now)
    case .failed(let error, let epoch):
      state.failed(epoch: epoch, error: error, now: .now)
    case .arrived(let events, let hasHeard, let epoch):
      state.arrived(events, hasHeard: hasHeard, on: purpose, epoch: epoch, now: .now)
    }
  }

  fileprivate mutating func noteLate(_ outcome: JobOutcome, _ todo: inout Todo) {
    note(outcome)
    // The thread that has the role now sends the request.
    if case .encoded = outcome { todo.wakesWriter = true }
  }

  private mutating func note(_ outcome: JobOutcome) {
    switch outcome {
    case .shown(let id, let delivery, let outcome): state.delivered(delivery, to: id, outcome: outcome)
    case .locked(let id): state.locked(id)
    case .encoded(let id, let encoded):
      // The request is registered with the connection that is open now, whichever thread has encoded it.
      if let request = state.encoded(id, encoded, now: .now) { roles[.writer].requests.append(request) }
    }
  }

  /// The step that the session calls for; `nil`: there may be jobs now.
  fileprivate mutating func nextMove(for purpose: ConnectionPurpose, _ todo: inout Todo) -> Link.Step? {
    let now = Instant.now
    let instruction = state.instruction(for: purpose, now: now)
    if let open = roles[purpose].connection, instruction != .serve(epoch: open.epoch) {
      roles[purpose].connection = nil
      roles[purpose].requests = []
      return .close(open)
    }
    switch instruction {
    case .exit:
      if state.hasEffects { return nil }
      // Decided under the lock, so that the next caller that needs the server starts a new thread.
      roles[purpose].turn = nil
      return .end
    case .wait(let until): return state.hasEffects ? nil : .wait(until: until)
    case .connect(let epoch): return state.hasEffects ? nil : .connect(epoch: epoch)
    case .serve(let epoch):
      guard roles[purpose].connection != nil else {
        state.failed(epoch: epoch, error: .disconnected(reason: "not open"), now: now)
        return nil
      }
      guard let work = state.work(for: purpose, epoch: epoch, now: now) else { return nil }
      roles[purpose].requests += work.requests
      roles[purpose].waitUntil = work.waitUntil
      for (id, encoding) in work.encodings { todo.jobs.append(state.effect(of: encoding, for: id)) }
      return nil
    }
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
