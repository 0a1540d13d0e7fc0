import SharedStateTesting
import Testing

@testable import SharedStateDependencies

@Suite("TestClock", .timeLimit(.minutes(5)))
@MainActor final class TestClockTests {
  private let clock = TestClock()
  private var log: [Int] = []

  /// How long `run` may take while other tests keep the threads busy, so that a turn takes some tenths of a second. A run
  /// that never ends exceeds the time limit of the suite.
  private nonisolated static let enoughTime = Duration.seconds(240)

  /// Sleeps in a task, and then writes a number down.
  private func sleeper(_ number: Int, seconds: Int) -> Task<Void, any Error> {
    Task {
      try await clock.sleep(for: .seconds(seconds))
      log.append(number)
    }
  }

  /// Waits until tasks sleep, which tests of users need not do.
  private func sleeps(_ count: Int) async throws {
    try await eventually("\(count) sleeps") { [clock] in clock.sleepCount == count }
  }

  private func written(_ numbers: [Int]) async throws {
    try await eventually("the log \(numbers)") { [self] in await log == numbers }
  }

  @Test("Sleeps end in the order of their deadlines")
  func orderOfDeadlines() async throws {
    let tasks = [sleeper(3, seconds: 3), sleeper(1, seconds: 1), sleeper(2, seconds: 2), sleeper(9, seconds: 9)]
    try await sleeps(4)
    await clock.advance(by: .seconds(2))
    try await written([1, 2])
    #expect(clock.now.offset == .seconds(2))
    await clock.advance(to: .init(offset: .seconds(4)))
    try await written([1, 2, 3])
    #expect(clock.sleepCount == 1)
    tasks[3].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[3].end() }
  }

  @Test("A timer that is about to start ticks while the clock advances")
  func startingTimer() async throws {
    let timer = Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        log.append(log.count + 1)
      }
    }
    await clock.advance(by: .seconds(3))
    try await written([1, 2, 3])
    timer.cancel()
    await #expect(throws: CancellationError.self) { try await timer.end() }
  }

  @Test("A sleep does not end before the clock reaches its deadline")
  func unreachedDeadline() async throws {
    let task = sleeper(1, seconds: 1)
    try await sleeps(1)
    await clock.advance(by: .milliseconds(999))
    #expect(log.isEmpty)
    #expect(clock.sleepCount == 1)
    await clock.advance(by: .milliseconds(1))
    try await task.end()
    #expect(log == [1])
  }

  @Test("A sleep of zero duration ends with the next advance")
  func zeroDuration() async throws {
    let task = sleeper(1, seconds: 0)
    try await sleeps(1)
    await clock.advance()
    try await task.end()
    #expect(clock.now.offset == .zero)
  }

  @Test("A sleep until the past ends immediately")
  func pastDeadline() async throws {
    await clock.advance(by: .seconds(2))
    try await clock.sleep(until: .init(offset: .seconds(1)))
    #expect(clock.now.offset == .seconds(2))
  }

  @Test("A sleep ends immediately when its task is cancelled")
  func cancelledSleep() async throws {
    let task = sleeper(1, seconds: 1)
    try await sleeps(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.end() }
    #expect(clock.sleepCount == 0)
    try await clock.checkSuspension()
  }

  @Test("A sleep in a task that is already cancelled ends with an error")
  func alreadyCancelledTask() async {
    let task = Task { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await task.end() }
    #expect(clock.eventCount == 0)
  }

  @Test("checkSuspension throws while a task sleeps")
  func sleepsAreNoticed() async throws {
    try await clock.checkSuspension()
    let task = sleeper(1, seconds: 1)
    try await sleeps(1)
    await #expect(throws: SuspensionError.self) { try await clock.checkSuspension() }
    await clock.run()
    try await clock.checkSuspension()
    try await task.end()
  }

  @Test("run advances the clock until no task sleeps")
  func runUntilIdle() async throws {
    let task = Task {
      for number in 1...10 {
        try await clock.sleep(for: .seconds(number))
        log.append(number)
      }
    }
    try await sleeps(1)
    await clock.run(timeout: Self.enoughTime)
    try await task.end()
    #expect(log == Array(1...10))
    #expect(clock.now.offset == .seconds(55))
  }

  @Test("run reports a sleep that outlasts its timeout, and cancels it")
  func runTimeout() async throws {
    let task = sleeper(1, seconds: 1)
    try await sleeps(1)
    let line = #line + 2
    await withKnownIssue {
      await clock.run(timeout: .zero)
    } matching: {
      "\($0)".contains("1 still slept") && $0.sourceLocation?.line == line
    }
    await #expect(throws: CancellationError.self) { try await task.end() }
    #expect(log.isEmpty)
  }

  @Test("run reports a task that never stops sleeping for zero duration")
  func endlessZeroSleeps() async throws {
    let task = Task {
      while true { try await clock.sleep(for: .zero) }
    }
    try await sleeps(1)
    await withKnownIssue {
      await clock.run(timeout: .milliseconds(1))
    } matching: {
      "\($0)".contains("1 still slept")
    }
    await #expect(throws: CancellationError.self) { try await task.end() }
  }

  @Test("An endless advance ends when its task is cancelled")
  func cancelledAdvance() async throws {
    let zero = Task {
      // Never ends: each sleep is due as soon as it begins.
      while true { try await clock.sleep(for: .zero) }
    }
    try await sleeps(1)
    let advance = Task { await clock.advance() }
    try await eventually("many sleeps") { [self] in clock.eventCount > 10 }
    advance.cancel()
    try await advance.end()
    zero.cancel()
    await #expect(throws: CancellationError.self) { try await zero.end() }
  }

  @Test("A test clock overrides the continuousClock dependency")
  func overriddenDependency() async throws {
    try await withDependencies {
      $0.continuousClock = clock
    } operation: {
      @Dependency(\.continuousClock) var any
      let task = Task { try await any.sleep(for: .seconds(1)) }
      try await sleeps(1)
      await clock.advance(by: .seconds(1))
      try await task.end()
    }
  }

  @Test("run wakes all tasks that sleep concurrently")
  nonisolated func concurrentSleepers() async throws {
    let clock = TestClock()
    var awake = 0
    try await withThrowingTaskGroup { group in
      for number in 0..<20 {
        group.addTask {
          for _ in 0..<2 { try await clock.sleep(for: .seconds(number % 7)) }
        }
      }
      try await eventually("20 sleeps") { clock.sleepCount == 20 }
      await clock.run(timeout: Self.enoughTime)
      for try await _ in group { awake += 1 }
    }
    #expect(awake == 20)
    #expect(clock.sleepCount == 0)
  }
}
