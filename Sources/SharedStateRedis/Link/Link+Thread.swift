import SharedStateDependencies
import Synchronization

/// The thread: asks its role for the next step, takes it, reports the result, and sleeps when the role waits. It runs no
/// user code. In a test's world, a task does the same.
extension Link: WatchedThreads {
  typealias Step = Role<OpenConnection>.Step
  typealias Event = Role<OpenConnection>.Event

  /// What the role waits for.
  struct Wait {
    /// `nil`: nothing but a wake-up.
    var connections: PerConnection<OpenConnection>?
    var until: Instant

    /// What the connections wait for.
    var interests: PerConnection<Interest?> { PerConnection { connections?[$0].connection.interest } }
  }

  /// An attempt to open both connections, one after the other.
  fileprivate struct Attempt {
    let epoch: UInt64
    var deadline: Instant
    var subscriber: OpenConnection?
  }

  /// In microseconds.
  private static let longestTravel: UInt64 = 1_000

  func startThread(_ guarded: inout Guarded) {
    guard guarded.lacksThread, guarded.state.mayStartThread(now: .now) else { return }
    do throws(ThreadStarter.Refusal) {
      try startThread(guarded.state.configuration)
      guarded.hasThread = true
    } catch {
      // Counts as a failed attempt to connect, so that it is tried again.
      let epoch = guarded.state.session.epoch
      guarded.state.failed(epoch: epoch, error: .outOfThreads(reason: error.reason), now: .now)
    }
  }

  /// The new thread waits for the lock of the link, which the caller holds.
  private func startThread(_ configuration: LinkState.Configuration) throws(ThreadStarter.Refusal) {
    if let schedule {
      // Only the part of the writer's name in front of "@" is the same in every process.
      let label = configuration.writer.prefix { $0 != "@" }
      return schedule.start("link of \(label)") { [self] in await run(on: schedule) }
    }
    try threads.start("redis-link") { [self] in run() }
  }

  /// Tries again to start the thread.
  func look() -> Bool {
    update(servesItself: false) { guarded in
      guarded.isWatched = guarded.lacksThread
      return guarded.isWatched
    }
  }

  func watchIsRefused(_ refusal: ThreadStarter.Refusal) { telemetry.threadRefused("shared-watch", refusal) }

  /// The body of the thread. Runs until the role ends.
  private func run() {
    var (event, attempt) = (Event.nothing, Attempt?.none)
    while let wait = proceed(after: event, &attempt) { event = sleep(wait) }
  }

  /// The body of the task. Runs until the role or the schedule ends. Whenever it waits, the schedule decides which task
  /// runs next. Data takes time to travel.
  private func run(on schedule: any Schedule) async {
    var (event, attempt) = (Event.nothing, Attempt?.none)
    while let wait = proceed(after: event, &attempt) {
      // Resumes all waiters with an error.
      guard let next = await sleep(wait, on: schedule) else { return _ = stop() }
      event = next
    }
  }

  /// Takes the steps of the role until it waits; `nil`: the thread ends.
  private func proceed(after event: Event, _ attempt: inout Attempt?) -> Wait? {
    var event = event
    while true {
      let step = decide(after: event, isConnecting: attempt != nil)
      if case .connect = step {} else { abandon(&attempt) }
      switch step {
      case .perform: event = .performed([])
      case .connect(let epoch, let deadline):
        guard let opened = connect(epoch, &attempt) else {
          return Wait(until: min(deadline, attempt?.deadlineCheck ?? deadline))
        }
        event = opened
      case .exchange(let connections, let requests, let until):
        do throws(RedisSharedStateError) {
          // If one cannot send, the link takes the writer's requests for sent.
          for purpose in [ConnectionPurpose.writer, .subscriber] where !requests[purpose].isEmpty {
            try connections[purpose].connection.send(requests[purpose])
          }
          return Wait(connections: connections, until: until)
        } catch {
          event = .failed(error)
        }
      case .close(let connections):
        for open in connections.values { open.connection.close() }
        event = .nothing
      case .wait(let until): return Wait(until: until)
      case .end: return nil
      }
    }
  }

  // MARK: Connecting

  /// Continues an attempt to connect. Returns what has happened; `nil`: the attempt waits.
  private func connect(_ epoch: UInt64, _ attempt: inout Attempt?) -> Event? {
    if attempt?.epoch != epoch {
      abandon(&attempt)
      attempt = Attempt(epoch: epoch, deadline: .now + connectTimeout)
    }
    do throws(RedisSharedStateError) {
      if attempt?.subscriber == nil {
        guard let subscriber = try open(.subscriber, attempt) else { return nil }
        attempt = Attempt(epoch: epoch, deadline: .now + connectTimeout, subscriber: subscriber)
        // The link may need no connections by now.
        return .nothing
      }
      guard let writer = try open(.writer, attempt), let subscriber = attempt?.subscriber else { return nil }
      attempt = nil
      let connections = PerConnection { $0 == .writer ? writer : subscriber }
      return .opened(connections, PerConnection { connections[$0].connection.facts })
    } catch {
      // A connection that is released is closed.
      abandon(&attempt)
      return .failed(error)
    }
  }

  private func open(
    _ purpose: ConnectionPurpose,
    _ attempt: Attempt?
  ) throws(RedisSharedStateError) -> OpenConnection? {
    guard let attempt else { return nil }
    let connection = try connector.open(purpose, pass: attempt.epoch, waker: waker, deadline: attempt.deadline)
    return connection.map { OpenConnection(connection: $0) }
  }

  private func abandon(_ attempt: inout Attempt?) {
    guard attempt.take() != nil else { return }
    connector.stopConnecting(waker)
  }

  // MARK: Sleeping

  /// Sleeps until the role has something to do.
  private func sleep(_ wait: Wait) -> Event {
    while true {
      let interests = wait.interests
      loan.offer()
      let arrived = Result { () throws(RedisSharedStateError) in try waker.wait(for: interests, until: wait.until) }
      loan.reclaim()
      switch arrived {
      case .success(let arrived): if let event = endWait(wait, arrived) { return event }
      case .failure(let error): return .failed(error)
      }
    }
  }

  /// Sleeps until the role has something to do, and returns what has happened; `nil`: the schedule has ended.
  private func sleep(_ wait: Wait, on schedule: any Schedule) async -> Event? {
    while !schedule.hasEnded {
      if !arrivals(wait).values.contains(true) {
        var deadline = wait.until
        for case .wakeUp(let by?)? in wait.interests.values { deadline = min(deadline, by) }
        loan.offer()
        await waker.wait(until: deadline)
        loan.reclaim()
      }
      // Waits for a time that the seed determines.
      let time = Duration.microseconds(schedule.randomNumber() % Self.longestTravel)
      await Alarm(on: schedule).wait(until: schedule.now + time) { false }
      if let event = endWait(wait, arrivals(wait)) { return event }
    }
    return nil
  }

  private func arrivals(_ wait: Wait) -> PerConnection<Bool> {
    let interests = wait.interests
    return PerConnection { interests[$0]?.isArrived ?? false }
  }

  /// The event of a role that has waited; `nil`: it continues to wait, because nothing has arrived that it could use
  /// yet.
  private func endWait(_ wait: Wait, _ arrived: PerConnection<Bool>) -> Event? {
    let isOver = waker.clear() || wait.until <= .now
    guard let connections = wait.connections else { return isOver ? .nothing : nil }
    let arrivals = PerConnection { purpose in
      let connection = connections[purpose].connection
      // A wake-up may have come from the connection itself.
      return arrived[purpose] || connection.interest.isArrived ? connection.receive() : Arrivals()
    }
    return isOver || arrivals.values.contains(where: \.isOfUse) ? .arrived(arrivals) : nil
  }

  // MARK: What is next

  private func decide(after event: Event, isConnecting: Bool) -> Step {
    let departed = takeDepartures()
    var remaining = RemainingEffects()
    let (step, measures) = guarded.withLock { guarded in
      for id in departed { guarded.state.leave(id) }
      return nextStep(after: event, isConnecting, &guarded, &remaining)
    }
    // The thread itself is awake. If it ends, another one may wait by now.
    if case .end = step {} else if remaining.wakesThread { waker.skipNextWait() }
    remaining.wakesThread = false
    perform(remaining, servesItself: false)
    if measures { measure() }
    return step
  }

  /// The next step of the role, and whether it is time to collect the metrics.
  private func nextStep(
    after event: Event,
    _ isConnecting: Bool,
    _ guarded: inout Guarded,
    _ remaining: inout RemainingEffects
  ) -> (step: Step, measures: Bool) {
    var (event, measures) = (event, false)
    while true {
      let now = Instant.now
      measures = guarded.isTimeToMeasure(at: now) || measures
      let step = guarded.role.next(after: event, in: &guarded.state, now: now)
      guard case .perform(let effects) = step else {
        guard case .end = step else { return (step, measures) }
        // The attempt is abandoned first, because a new thread would use the same waker.
        guard !isConnecting else { return (.wait(until: .past), measures) }
        // Decided under the lock, so that the next caller that needs the server starts a new thread.
        guarded.hasThread = false
        return (step, measures)
      }
      guarded.state.putBack(effects)
      takeEffects(of: &guarded, into: &remaining, showsPlainValues: true)
      event = .performed([])
    }
  }

  /// Checks, once a second at most, whether the program has set a metrics factory by now, and whether bytes have to be
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
}

extension Link.Attempt {
  /// When a deadline ends the attempt. Behind it, the connector does, whenever it has the result.
  fileprivate var deadlineCheck: Instant { max(deadline, .now + .seconds(1)) }
}

extension Link.Guarded {
  /// Whether it is time to collect the metrics, at most once a second.
  fileprivate mutating func isTimeToMeasure(at now: Instant) -> Bool {
    guard measureAt <= now else { return false }
    measureAt = now + .seconds(1)
    return true
  }

  /// Whether the role has no thread, although it needs one: it was not needed before, or the system has refused it.
  var lacksThread: Bool { !hasThread && state.session.phase != .idle && state.session.phase != .stopped }
}
