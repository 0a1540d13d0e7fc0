import Foundation
import SharedStateDependencies
import Synchronization

/// The threads: each asks what is next, does it, and tells what came of it.
extension Link {
  /// What a thread does without the lock.
  enum Step: Sendable {
    /// The jobs of the role.
    case perform
    case wait(until: Instant)
    case connect(epoch: UInt64)
    /// Send, then wait for something to arrive.
    case exchange(OpenConnection, [RedisRequest], until: Instant)
    case close(OpenConnection)
    case end
  }

  /// What came of a step.
  enum Report: Sendable {
    case nothing
    case done([Job.Outcome])
    /// The thread has lost its role in a job of this owner.
    case late(Job.Outcome?, Job.Owner?)
    case opened(OpenConnection)
    case failed(RedisSharedStateError, epoch: UInt64)
    case arrived([RedisEvent], hasHeard: Bool, epoch: UInt64)
  }

  func startThreads(_ guarded: inout Guarded) {
    guard guarded[.writer].turn == nil || guarded[.subscriber].turn == nil else { return }
    guard guarded.state.session.phase != .idle, guarded.state.session.phase != .stopped else { return }
    for purpose in ConnectionPurpose.allCases where guarded[purpose].turn == nil { startThread(purpose, &guarded) }
  }

  private func startThread(_ purpose: ConnectionPurpose, _ guarded: inout Guarded) {
    guarded.lastTurn += 1
    let turn = guarded.lastTurn
    guarded[purpose].turn = turn
    jobList(purpose).begin(turn)
    if let schedule {
      // The writer says whose link it is, and then what differs from process to process.
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

  /// The body of a thread that has a role, until it ends or has lost it.
  private func run(_ purpose: ConnectionPurpose, _ turn: UInt64) {
    guard let waker = wakers[purpose] else { return }
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
    let list = jobList(purpose)
    var (outcome, owner): (Job.Outcome?, Job.Owner?) = (nil, nil)
    while true {
      // What a job holds is released before the next one: while the thread waits, nothing is kept.
      switch list.next(for: turn, after: outcome) {
      case .job(let job):
        owner = job.owner
        outcome = perform(job.task)
      case .report(let outcomes): return .done(outcomes)
      case .lost: return .late(outcome, owner)
      }
    }
  }

  /// The end of a thread that has lost its role in a job, or the body of one that never had any: the jobs of one owner,
  /// then of another one if it is to help.
  private func performLate(_ outcome: Job.Outcome?, of owner: Job.Owner?, isHelper: Bool = false) {
    var (outcome, owner) = (outcome, owner)
    while let (job, next) = nextLate(after: outcome, of: owner, isHelper: isHelper) {
      owner = next
      outcome = perform(job.task)
    }
  }

  private func jobList(_ purpose: ConnectionPurpose) -> JobList {
    switch purpose {
    case .writer: jobs.writer
    case .subscriber: jobs.subscriber
    }
  }

  private func connect(_ purpose: ConnectionPurpose, _ waker: Waker, epoch: UInt64) -> Report {
    // In the place of the writer's thread, which looks at the deadlines otherwise.
    let watch = purpose == .writer ? DeadlineWatch { [self] in expireWaiters() } : nil
    defer { watch?.end() }
    do throws(RedisSharedStateError) {
      let connection = try connector.connect(purpose: purpose, waker: waker, deadline: .now + connectTimeout)
      return .opened(OpenConnection(connection: connection, epoch: epoch))
    } catch {
      return .failed(error, epoch: epoch)
    }
  }

  /// Tells those who have waited for long enough, and says when the next one has.
  func expireWaiters() -> Instant? {
    update { guarded in
      guarded.state.expireWaiters(now: .now)
      return guarded.state.nextExpiry
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
      leave(departed, &guarded, &todo)
      guarded.note(report, for: purpose)
      let step = nextStep(for: purpose, &guarded, &todo)
      guard case .perform = step else { return (step, todo, false) }
      return (step, todo, schedule == nil && guarded.beginWatch())
    }
    wake(todo)
    if needsWatch { JobWatch.shared.add(self) }
    return step
  }

  /// What a thread without a role does next, and whose job that is. It tells of one value.
  private func nextLate(
    after outcome: Job.Outcome?,
    of owner: Job.Owner?,
    isHelper: Bool
  ) -> (Job, Job.Owner)? {
    let (next, todo) = guarded.withLock { guarded -> ((Job, Job.Owner)?, Todo) in
      var todo = Todo()
      if let outcome { guarded.noteLate(outcome, &todo) }
      // Nobody's code was called otherwise, and nothing has come of it.
      if let owner {
        takeEffects(of: &guarded, into: &todo)
        guarded.setAside(&todo, behind: owner)
        // Jobs of others may be among them: they do not change whose turn it is.
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

  /// What the thread that has a role does next. The jobs come first: who waits is told before anything else is done, and
  /// what is shown may lead to more.
  private func nextStep(for purpose: ConnectionPurpose, _ guarded: inout Guarded, _ todo: inout Todo) -> Step {
    while true {
      takeEffects(of: &guarded, into: &todo)
      guarded.setAside(&todo)
      let hasJobs = jobList(purpose).append(todo.jobs)
      todo.jobs = []
      if hasJobs { return .perform }
      if let until = guarded[purpose].waitUntil.take(), let connection = guarded[purpose].connection {
        defer { guarded[purpose].requests = [] }
        return .exchange(connection, guarded[purpose].requests, until: until)
      }
      if let step = guarded.nextMove(for: purpose, &todo) { return step }
    }
  }

  /// Looks for jobs that take too long, by themselves or together, once in a while.
  ///
  /// - Returns: Whether to look again.
  func checkJobs() -> Bool {
    let (isBusy, todo) = guarded.withLock { guarded -> (Bool, Todo) in
      var todo = Todo()
      var isBusy = false
      for purpose in ConnectionPurpose.allCases {
        guard let delay = jobList(purpose).tick() else { continue }
        isBusy = true
        switch delay {
        case .none: break
        case .ofMany: guarded.leaveToHelpers(jobList(purpose).takeRest(), &todo)
        case .ofOne:
          guard let (owner, jobs) = jobList(purpose).relieve() else { continue }
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
  /// Tells the state machines what came of a step.
  fileprivate mutating func note(_ report: Link.Report, for purpose: ConnectionPurpose) {
    switch report {
    case .nothing, .late: break
    case .done(let outcomes):
      for outcome in outcomes { note(outcome) }
    case .opened(let open):
      self[purpose].connection = open
      state.connected(purpose, open.connection.facts, epoch: open.epoch, now: .now)
    case .failed(let error, let epoch):
      state.failed(epoch: epoch, error: error, now: .now)
    case .arrived(let events, let hasHeard, let epoch):
      state.arrived(events, hasHeard: hasHeard, on: purpose, epoch: epoch, now: .now)
    }
  }

  fileprivate mutating func noteLate(_ outcome: Job.Outcome, _ todo: inout Todo) {
    note(outcome)
    // What is to be sent for it now, the thread that has the role by now sends.
    if case .encoded = outcome { todo.wakesWriter = true }
  }

  private mutating func note(_ outcome: Job.Outcome) {
    switch outcome {
    case .shown(let id, let delivery, let outcome): state.delivered(delivery, to: id, outcome: outcome)
    case .locked(let id): state.locked(id)
    case .encoded(let id, let encoded):
      // It is registered with the connection that is open now, whoever has encoded it.
      if let request = state.encoded(id, encoded, now: .now) { self[.writer].requests.append(request) }
    }
  }

  /// What the session wants; `nil`: there may be jobs now.
  fileprivate mutating func nextMove(for purpose: ConnectionPurpose, _ todo: inout Todo) -> Link.Step? {
    let now = Instant.now
    let instruction = state.instruction(for: purpose, now: now)
    if let open = self[purpose].connection, instruction != .serve(epoch: open.epoch) {
      self[purpose].connection = nil
      self[purpose].requests = []
      return .close(open)
    }
    switch instruction {
    case .exit:
      if state.hasEffects { return nil }
      // Decided under the lock, so that whoever needs the server next starts a new thread.
      self[purpose].turn = nil
      return .end
    case .wait(let until): return state.hasEffects ? nil : .wait(until: until)
    case .connect(let epoch): return state.hasEffects ? nil : .connect(epoch: epoch)
    case .serve(let epoch):
      guard self[purpose].connection != nil else {
        state.failed(epoch: epoch, error: .disconnected(reason: "not open"), now: now)
        return nil
      }
      guard let work = state.work(for: purpose, epoch: epoch, now: now) else { return nil }
      self[purpose].requests += work.requests
      self[purpose].waitUntil = work.waitUntil
      for (id, encoding) in work.encodings {
        var updates: [LinkState.WaiterID: AtomicUpdate] = [:]
        for waiter in encoding.updates { updates[waiter] = waiters[waiter]?.update }
        let task = Job.Task.encode(members[id]?.attachment, id, encoding, updates)
        todo.jobs.append(Job(owner: .value(id), task: task))
      }
      return nil
    }
  }

  // MARK: The watch

  /// There are jobs; whether somebody has to be told to look.
  fileprivate mutating func beginWatch() -> Bool {
    batches &+= 1
    guard watched == nil else { return false }
    watched = (batches, 0)
    return true
  }

  /// Whether there was any job since somebody looked last, or a short while before.
  fileprivate mutating func goesOnWatching(isBusy: Bool) -> Bool {
    guard let last = watched else { return false }
    let idleTicks = isBusy || last.batches != batches ? 0 : last.idleTicks + 1
    watched = idleTicks < JobWatch.lingering ? (batches, idleTicks) : nil
    return watched != nil
  }
}
