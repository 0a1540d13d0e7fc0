import SharedStateDependencies

/// The thread in a test's world: a task that does what the thread does. Whenever it waits, the schedule decides which
/// task runs next. Data takes time to travel in both directions.
extension Link {
  /// In microseconds.
  private static let longestTravel: UInt64 = 1_000

  /// The body of the task that has the role. Runs until the task or the schedule ends.
  func run(_ turn: UInt64, on schedule: any Schedule) async {
    var report = Report.nothing
    while let wait = await proceed(after: report, turn, on: schedule) {
      // Resumes all waiters with an error.
      guard let next = await sleep(wait, on: schedule) else { return _ = stop() }
      report = next
    }
  }

  /// Takes the steps of the role until it waits; `nil`: the task ends.
  private func proceed(after report: Report, _ turn: UInt64, on schedule: any Schedule) async -> Wait? {
    var report = report
    while true {
      switch decide(after: report) {
      case .perform:
        // Nothing takes the role away, because no watch looks for slow code here, and no time passes meanwhile.
        report = performJobs(turn) ?? .nothing
      case .connect(let epoch):
        report = await connect(epoch, on: schedule)
      case .exchange(let connections, let requests, let until):
        do throws(RedisSharedStateError) {
          for purpose in [ConnectionPurpose.writer, .subscriber] where !requests[purpose].isEmpty {
            await travel(on: schedule)
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

  private func connect(_ epoch: UInt64, on schedule: any Schedule) async -> Report {
    do throws(RedisSharedStateError) {
      let subscriber = try await open(.subscriber, on: schedule)
      guard goesOnConnecting(epoch) else { throw .stopped }
      let writer = try await open(.writer, on: schedule)
      let connections = PerConnection { $0 == .writer ? writer : subscriber }
      return .opened(connections, PerConnection { connections[$0].connection.facts })
    } catch {
      return .failed(error)
    }
  }

  private func open(
    _ purpose: ConnectionPurpose,
    on schedule: any Schedule
  ) async throws(RedisSharedStateError) -> OpenConnection {
    guard let connector = connector as? any ScheduledConnector else { throw .stopped }
    let deadline = Instant.now + connectTimeout
    await travel(on: schedule)
    defer { connector.stopConnecting(waker) }
    while true {
      waker.clear()
      if let connection = try connector.open(purpose, waker) { return OpenConnection(connection: connection) }
      guard .now < deadline, !schedule.hasEnded else { throw .timedOut(operation: "connect") }
      await waker.wait(until: min(deadline, expireWaiters() ?? deadline))
    }
  }

  /// Sleeps until the role has something to do, and returns its report; `nil`: the schedule has ended.
  private func sleep(_ wait: Wait, on schedule: any Schedule) async -> Report? {
    while !schedule.hasEnded {
      if !arrivals(wait).values.contains(true) {
        var deadline = wait.until
        for case .wakeUp(let by?)? in wait.interests.values { deadline = min(deadline, by) }
        loan.offer()
        await waker.wait(until: deadline)
        loan.takeBack()
      }
      if arrivals(wait).values.contains(true) { await travel(on: schedule) }
      if let report = endWait(wait, arrivals(wait)) { return report }
    }
    return nil
  }

  private func arrivals(_ wait: Wait) -> PerConnection<Bool> {
    let interests = wait.interests
    return PerConnection { interests[$0]?.isArrived ?? false }
  }

  /// Waits for a time that the seed determines.
  private func travel(on schedule: any Schedule) async {
    let time = Duration.microseconds(schedule.randomNumber() % Self.longestTravel)
    await Alarm(on: schedule).wait(until: schedule.now + time) { false }
  }
}
