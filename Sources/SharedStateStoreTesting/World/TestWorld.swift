public import Foundation
import IssueReporting
import SharedState
import SharedStateDependencies
import SharedStateStore
import Synchronization
import Testing

/// A world of services, in which a seed decides all that is otherwise left to chance: which task runs next, how long a
/// message travels, when a connection breaks.
///
/// ```swift
/// await TestWorld.explore(seeds: 1...1_000) { world in
///   let server = InProcessRedis()
///   let (north, south) = (makeOffice("north", on: server), makeOffice("south", on: server))
///   async let first: Void = north.send(.sell).finish()
///   async let second: Void = south.send(.sell).finish()
///   _ = await (first, second)
///   try await north.state.$tickets.load()
///   #expect(north.state.tickets == 8)
/// }
/// ```
///
/// `InProcessRedis` is in `SharedStateRedis`, its faults in `SharedStateRedisTesting`. Each service has a store of its
/// own, `.inProcess(server, configuration: configuration, logger: quiet)` as its `defaultRedisStore`: the `label` of the
/// configuration names it in the ``schedule``, and a logger with a `SwiftLogNoOpLogHandler` of swift-log is quiet.
///
/// `updateAtomically` leaves what it has stored, or a newer value, in the shares of its own service. Changes of other
/// services arrive with their messages: `load()` a value before you expect it to have them.
///
/// The world includes the body of the test and all that it makes: its tasks, the effects of its stores, its fake
/// servers with the services on them, and observers. They run on one thread, a step at a time. The time is the world's
/// own, and passes immediately when every task waits for it. The dependencies `continuousClock`,
/// `suspendingClock` and `date` show it, and `Task.sleep` follows it from Swift 6.3 on.
///
/// The same seed produces the same run. Code on other threads is outside of it: the main actor, files, a real server.
/// See <doc:DistributedTests>.
public final class TestWorld: Sendable {
  /// The seed of all decisions.
  public let seed: UInt64

  private let timeLimit: Duration
  let worldSchedule: WorldSchedule
  private let hasRun = Atomic(false)

  /// A world that has not begun.
  ///
  /// - Parameters:
  ///   - seed: The seed of all decisions.
  ///   - timeLimit: How much of its own time the world has. A run that needs more is aborted.
  public init(seed: UInt64, timeLimit: Duration = .seconds(3_600)) {
    self.seed = seed
    self.timeLimit = timeLimit
    worldSchedule = WorldSchedule(seed: seed)
  }

  // MARK: In the world

  /// Shows the world's time, which begins at zero, and lets tasks sleep.
  public var clock: any Clock<Duration> { WorldClock(schedule: worldSchedule) }

  /// The steps so far: a line for each time that a participant has run.
  public var schedule: String { worldSchedule.record.text() }

  /// Performs a disturbance at a moment that the seed decides, unless the world ends before.
  ///
  /// - Parameters:
  ///   - what: The name of the disturbance in the schedule.
  ///   - duration: The latest moment, counted from now. A message travels for up to a millisecond.
  ///   - disturbance: The action, such as cutting the connections of a fake server. It must not block.
  public func disturb(_ what: String, within duration: Duration, _ disturbance: @escaping @Sendable () -> Void) {
    let schedule = worldSchedule
    let longest = UInt64(max(.zero, duration).wholeMicroseconds)
    let time = schedule.now + .microseconds(schedule.randomNumber() % (longest + 1))
    _ = schedule.call(at: time) {
      guard !schedule.hasEnded else { return }
      schedule.note(what)
      disturbance()
    }
  }

  // MARK: Running

  /// Runs the body of a test in the world. Call it once.
  ///
  /// If the body fails, by an error or by an issue, its seed and the end of its schedule are reported, too.
  /// Dependencies have fresh defaults in it.
  ///
  /// - Parameter body: The body of the test. It may return a result.
  /// - Returns: The result of the body.
  /// - Throws: The error of the body; ``TestWorldError`` when it does not end.
  public func run<Result: Sendable>(
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column,
    _ body: @escaping @Sendable (_ world: TestWorld) async throws -> Result
  ) async throws -> Result {
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let outcome = await watched(body)
    if outcome.hasFailed {
      location.report(failureMessage("'TestWorld(seed: \(seed))' has failed, and does so again with that seed."))
    }
    return try outcome.result.get()
  }

  /// Runs the body of a test in worlds of many seeds, one after the other, until it fails in one.
  ///
  /// That seed is reported, with the end of its schedule.
  /// - Parameters:
  ///   - seeds: The seeds to try.
  ///   - timeLimit: How much of its own time each world has.
  ///   - body: The body of the test.
  /// - Returns: The seed with which the body has failed; `nil` when there is none.
  @discardableResult
  public static func explore(
    seeds: ClosedRange<UInt64>,
    timeLimit: Duration = .seconds(3_600),
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column,
    _ body: @escaping @Sendable (_ world: TestWorld) async throws -> Void
  ) async -> UInt64? {
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    for seed in seeds {
      if Task.isCancelled { return nil }
      let world = TestWorld(seed: seed, timeLimit: timeLimit)
      let outcome = await world.watched(body)
      guard outcome.hasFailed else { continue }
      let error = if case .failure(let error) = outcome.result { "\n\n\(error)" } else { "" }
      location.report(
        world.failureMessage("The seed \(seed) of \(seeds) is bad. 'TestWorld(seed: \(seed))' runs it again.\(error)")
      )
      return seed
    }
    return nil
  }

  private func failureMessage(_ beginning: String) -> String {
    let record = worldSchedule.record
    var parts = [beginning]
    if record.jobsFromOutside > 0 {
      parts.append("Of its steps \(record.jobsFromOutside) came from other threads, at times that no seed decides.")
    }
    parts += ["The end of its schedule:", record.text(last: 100)]
    return parts.joined(separator: "\n\n")
  }

  // MARK: A run

  private struct Outcome<Result: Sendable>: Sendable {
    let result: Swift.Result<Result, any Error>
    let hasFailed: Bool
  }

  /// Runs the body, and records whether it reports issues.
  private func watched<Result: Sendable>(
    _ body: @escaping @Sendable (TestWorld) async throws -> Result
  ) async -> Outcome<Result> {
    precondition(
      !hasRun.exchange(true, ordering: .relaxed),
      "A TestWorld runs once. Make another one with the same seed."
    )
    let hasIssues = Mutex(false)
    let result = Mutex<Swift.Result<Result, any Error>?>(nil)
    await withKnownIssue(isIntermittent: true) {
      let found = await self.result(of: body)
      result.withLock { $0 = found }
    } matching: { _ in
      hasIssues.withLock { $0 = true }
      return false
    }
    let found = result.withLock { $0 } ?? .failure(CancellationError())
    if case .failure = found { return Outcome(result: found, hasFailed: true) }
    return Outcome(result: found, hasFailed: hasIssues.withLock { $0 })
  }

  private func result<Result: Sendable>(
    of body: @escaping @Sendable (TestWorld) async throws -> Result
  ) async -> Swift.Result<Result, any Error> {
    let schedule = worldSchedule
    let outcome = Slot<Result>()
    let participant = schedule.announce("the body of the test")
    // It begins with the first step. Its task-local values are those of the present task.
    let task = Task(executorPreference: schedule) {
      let found = await self.perform(body)
      schedule.end(participant)
      outcome.set(found)
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let run = { @Sendable [timeLimit] in
          Schedules.withCurrent(schedule) {
            let failure = schedule.run(until: { outcome.value != nil }, timeLimit: timeLimit)
            let error = failure.map { failure in
              TestWorldError(failure, now: schedule.now, timeLimit: timeLimit, waiting: schedule.record.waiting)
            }
            if error != nil { task.cancel() }
            schedule.end()
            let found = outcome.value ?? .failure(CancellationError())
            continuation.resume(returning: error.map { .failure($0) } ?? found)
          }
        }
        do throws(ThreadStarter.Refusal) {
          try ThreadStarter.system.start("test-world", stackSize: 8 << 20, run)
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    } onCancel: {
      task.cancel()
    }
  }

  /// The body with dependencies of its own.
  private func perform<Result: Sendable>(
    _ body: @Sendable (TestWorld) async throws -> Result
  ) async -> Swift.Result<Result, any Error> {
    let values = DependencyValues.current.withFreshCache()
    defer { values.cache?.reset() }
    do {
      let result = try await DependencyValues.withInForce(values) {
        try await withDependencies {
          $0.continuousClock = clock
          $0.suspendingClock = clock
          $0.date = DateGenerator { [worldSchedule] in
            Date(timeIntervalSince1970: 1_000_000_000 + worldSchedule.now / .seconds(1))
          }
        } operation: {
          try await body(self)
        }
      }
      return .success(result)
    } catch {
      return .failure(error)
    }
  }
}

/// The result of the body.
private final class Slot<Value: Sendable>: Sendable {
  private let contents = Mutex<Result<Value, any Error>?>(nil)

  var value: Result<Value, any Error>? { contents.withLock { $0 } }

  func set(_ value: Result<Value, any Error>) { contents.withLock { $0 = value } }
}

/// Why a run of a ``TestWorld`` was aborted.
public struct TestWorldError: Error, LocalizedError, CustomStringConvertible {
  /// The reason, and the participants that wait.
  public let description: String

  init(_ failure: WorldSchedule.Failure, now: Duration, timeLimit: Duration, waiting: [String]) {
    let reason =
      switch failure {
      case .everybodyWaits: "At \(now) every task waits, and none is left that could run."
      case .timeIsOver: "The body of the test has not ended within \(timeLimit) of the world's time, its 'timeLimit'."
      case .runsOn: "The body of the test has not ended within a million steps: a task does not stop running."
      }
    description = ([reason, "Who waits:"] + waiting.map { "    \($0)" }).joined(separator: "\n")
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
