import SharedStateDependencies
import Testing

@Suite("ImmediateClock", .timeLimit(.minutes(5)))
struct ImmediateClockTests {
  @Test("Sleeps end immediately, and the time jumps to the deadline")
  func immediateSleeps() async throws {
    let clock = ImmediateClock()
    try await clock.sleep(for: .seconds(60))
    #expect(clock.now.offset == .seconds(60))
    try await clock.sleep(until: .init(offset: .seconds(3600)))
    #expect(clock.now.offset == .seconds(3600))
    try await clock.sleep(until: .init(offset: .seconds(1)))
    #expect(clock.now.offset == .seconds(3600))
    #expect(clock.minimumResolution == .zero)
  }

  @Test("A loop of sleeps lets other tasks run", .timeLimit(.minutes(5)))
  func loopOfSleeps() async throws {
    let timer = Task {
      let clock: any Clock<Duration> = .immediate
      while true { try await clock.sleep(for: .seconds(1)) }
    }
    for _ in 0..<10 { await Task { await Task.yield() }.value }
    timer.cancel()
    await #expect(throws: CancellationError.self) { try await timer.end() }
  }

  @Test("A cancelled task does not sleep")
  func cancelledTask() async {
    let clock = ImmediateClock()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await task.end() }
    #expect(clock.now.offset == .zero)
  }
}
