import SharedStateDependencies

/// The thread in a test's world: a task that does what the thread does. Whenever it waits, the schedule decides which
/// task runs next. Data takes time to travel in both directions.
extension Link {
  /// In microseconds.
  private static let longestTravel: UInt64 = 1_000

  /// The body of the task that has both roles. Runs until the task or the schedule ends.
  func run(_ turn: UInt64, on schedule: any Schedule) async {
    var waits = PerConnection { _ in Wait.none }
    while !schedule.hasEnded {
      for purpose in [ConnectionPurpose.subscriber, .writer] {
        guard let report = report(of: purpose, &waits) else { continue }
        guard let wait = await proceed(purpose, after: report, turn, on: schedule) else { return }
        waits[purpose] = wait
      }
      if !schedule.hasEnded { await sleep(&waits, on: schedule) }
    }
    // Resumes all waiters with an error.
    stop()
  }

  /// Takes the steps of a role until it waits; `nil`: the task ends.
  private func proceed(
    _ purpose: ConnectionPurpose,
    after report: Report,
    _ turn: UInt64,
    on schedule: any Schedule
  ) async -> Wait? {
    var report = report
    while true {
      switch decide(purpose, after: report) {
      case .perform:
        // Nothing takes the roles away, because no watch looks for slow code here, and no time passes meanwhile.
        report = performJobs(turn) ?? .nothing
      case .connect:
        report = await connect(purpose, on: schedule)
      case .exchange(let open, let requests, let until):
        do throws(RedisSharedStateError) {
          if !requests.isEmpty {
            await travel(on: schedule)
            try open.connection.send(requests)
          }
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

  private func connect(_ purpose: ConnectionPurpose, on schedule: any Schedule) async -> Report {
    guard let connector = connector as? any ScheduledConnector else { return .nothing }
    let deadline = Instant.now + connectTimeout
    await travel(on: schedule)
    defer { connector.stopConnecting(waker) }
    do throws(RedisSharedStateError) {
      while true {
        waker.clear()
        if let connection = try connector.open(purpose, waker) {
          return .opened(OpenConnection(connection: connection), connection.facts)
        }
        guard .now < deadline, !schedule.hasEnded else { throw .timedOut(operation: "connect") }
        await waker.wait(until: min(deadline, expireWaiters() ?? deadline))
      }
    } catch {
      return .failed(error)
    }
  }

  /// Sleeps until a role has something to do.
  private func sleep(_ waits: inout PerConnection<Wait>, on schedule: any Schedule) async {
    var deadline = end(of: waits)
    for case .wakeUp(let by?)? in interests(of: waits).values { deadline = min(deadline, by) }
    if !arrivals(waits).values.contains(true) {
      loan.offer()
      await waker.wait(until: deadline)
      loan.takeBack()
    }
    if arrivals(waits).values.contains(true) { await travel(on: schedule) }
    note(arrivals(waits), in: &waits)
  }

  private func arrivals(_ waits: PerConnection<Wait>) -> PerConnection<Bool> {
    let interests = interests(of: waits)
    return PerConnection { if case .arrived? = interests[$0] { true } else { false } }
  }

  /// Waits for a time that the seed determines.
  private func travel(on schedule: any Schedule) async {
    let time = Duration.microseconds(schedule.randomNumber() % Self.longestTravel)
    await Alarm(on: schedule).wait(until: schedule.now + time) { false }
  }
}
