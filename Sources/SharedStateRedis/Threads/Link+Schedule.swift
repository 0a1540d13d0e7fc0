import SharedStateDependencies

/// The roles in a test's world: tasks that do what the threads do, one step at a time. Between steps, the schedule
/// decides which task runs next. Data takes time to travel in both directions.
extension Link {
  /// In microseconds.
  private static let longestTravel: UInt64 = 1_000

  /// The body of a task that has a role. Runs until the role or the schedule ends.
  func run(_ purpose: ConnectionPurpose, _ turn: UInt64, on schedule: any Schedule) async {
    let waker = wakers[purpose]
    var report = Report.nothing
    while !schedule.hasEnded {
      switch decide(purpose, after: report) {
      case .perform:
        // Nothing takes the role away, because no watch looks for slow code here.
        report = performJobs(of: purpose, turn) ?? .nothing
      case .wait(let until):
        await waker.wait(until: until)
        waker.clear()
        report = .nothing
      case .connect:
        report = await connect(purpose, waker, on: schedule)
      case .exchange(let open, let requests, let until):
        report = await exchange(requests, on: open, waker, until: until, schedule)
      case .close(let open):
        open.connection.close()
        report = .nothing
      case .end:
        return
      }
    }
    // Resumes all waiters with an error.
    stop()
  }

  private func connect(
    _ purpose: ConnectionPurpose,
    _ waker: Waker,
    on schedule: any Schedule
  ) async -> Report {
    guard let connector = connector as? InProcessConnector else { return .nothing }
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
        await waker.wait(until: min(deadline, (purpose == .writer ? expireWaiters() : nil) ?? deadline))
      }
    } catch {
      return .failed(error)
    }
  }

  private func exchange(
    _ requests: [RedisRequest],
    on open: OpenConnection,
    _ waker: Waker,
    until deadline: Instant,
    _ schedule: any Schedule
  ) async -> Report {
    guard let connection = open.connection as? InProcessConnection else { return .nothing }
    do throws(RedisSharedStateError) {
      if !requests.isEmpty {
        await travel(on: schedule)
        try connection.send(requests)
      }
      if !connection.hasOutput { await waker.wait(until: min(deadline, connection.nextExpiry ?? deadline)) }
      if connection.hasOutput { await travel(on: schedule) }
      let events = try connection.receive(until: .past)
      return .arrived(events, hasHeard: connection.hasHeard)
    } catch {
      return .failed(error)
    }
  }

  /// Waits for a time that the seed determines.
  private func travel(on schedule: any Schedule) async {
    let time = Duration.microseconds(schedule.randomNumber() % Self.longestTravel)
    await Alarm(on: schedule).wait(until: schedule.now + time) { false }
  }
}
