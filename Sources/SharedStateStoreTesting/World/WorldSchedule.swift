import CTaskHook
import Dispatch
import SharedStateDependencies
import Synchronization

#if compiler(>=6.3)
  @_spi(ExperimentalScheduling) import _Concurrency
#endif

/// Runs the tasks of a world, one job at a time, on one thread, in an order that a seed decides. Time passes only when
/// no job is left, and then immediately.
final class WorldSchedule: TaskExecutor, Schedule {
  /// Why a run was aborted.
  enum Failure: Error {
    case everybodyWaits
    case timeIsOver
    case runsOn
  }

  /// A job that is ready to run.
  private struct Ready {
    let job: UnownedJob
    let participant: Int
    /// The executor of the job, on which it runs.
    let executor: any TaskExecutor
  }

  private struct Call {
    let number: UInt64
    let time: Duration
    let closure: @Sendable () -> Void
  }

  private struct State {
    var random: SplitMix64
    var now = Duration.zero
    var hasStarted = false
    var hasEnded = false
    /// Sorted by participant, so that the order of waking does not matter.
    var ready: [Ready] = []
    /// Sorted by time.
    var calls: [Call] = []
    var lastCall: UInt64 = 0
    var settling: [CheckedContinuation<Void, Never>] = []
    var participants = Participants()
    var steps: [WorldStep] = []
    /// The number of jobs from other threads, which come at times that no seed decides.
    var jobsFromOutside = 0

    mutating func insert(_ ready: Ready) {
      let index = self.ready.firstIndex { $0.participant > ready.participant } ?? self.ready.endIndex
      self.ready.insert(ready, at: index)
    }

    mutating func takeReady(of executor: (any TaskExecutor)?) -> Ready? {
      let candidates = ready.indices.filter { executor == nil || ready[$0].executor === executor }
      guard let index = candidates.randomElement(using: &random) else { return nil }
      let next = ready.remove(at: index)
      participants.current = next.participant
      steps.append(WorldStep(time: now, participant: next.participant))
      return next
    }
  }

  /// How long to wait for jobs from other threads, in the time of the machine, before the run is aborted.
  private static let patience = DispatchTimeInterval.seconds(1)
  private static let maximumSteps = 1_000_000
  /// The number of steps for ending tasks after the run.
  private static let maximumLastSteps = 10_000

  private let state: Mutex<State>
  private let arrival = DispatchSemaphore(value: 0)

  init(seed: UInt64) {
    _ = Self.hook
    state = Mutex(State(random: SplitMix64(seed: seed)))
  }

  /// Takes over jobs for the global executor: those of tasks without a preference, of detached tasks, and of actors.
  private static let hook: Void = installTaskHook { job in
    guard let schedule = Schedules.current as? WorldSchedule else { return false }
    // A job of Swift is a pointer, and the runtime passes that pointer.
    schedule.enqueue(unsafeBitCast(job, to: UnownedJob.self), of: schedule)
    return true
  }

  // MARK: Running

  /// Runs jobs until a condition is true, or no job can make it true.
  ///
  /// - Returns: The reason for ending without the condition.
  func run(until isDone: () -> Bool, timeLimit: Duration) -> Failure? {
    state.withLock { $0.hasStarted = true }
    while !isDone() {
      guard state.withLock({ $0.steps.count }) < Self.maximumSteps else { return .runsOn }
      if runNext() { continue }
      if let settled = state.withLock({ $0.settling.popLast() }) {
        settled.resume()
      } else if let failure = pass(until: timeLimit), arrival.wait(timeout: .now() + Self.patience) == .timedOut {
        return failure
      }
    }
    return nil
  }

  /// Ends all waits for time, and runs the remaining jobs.
  func end() {
    let (calls, settling) = state.withLock { state in
      state.hasEnded = true
      defer { (state.calls, state.settling) = ([], []) }
      return (state.calls, state.settling)
    }
    for call in calls { call.closure() }
    for settled in settling { settled.resume() }
    for _ in 0..<Self.maximumLastSteps { guard runNext() else { break } }
    let left = state.withLock { state in
      state.hasStarted = false
      defer { state.ready = [] }
      return state.ready
    }
    for ready in left { runElsewhere(ready.job, on: ready.executor) }
  }

  /// Runs one job.
  ///
  /// - Parameter executor: The executor whose job runs; `nil` for any.
  /// - Returns: Whether there was one.
  @discardableResult
  func runNext(of executor: (any TaskExecutor)? = nil) -> Bool {
    let current = state.withLock { $0.participants.current }
    guard state.withLock({ $0.steps.count }) < Self.maximumSteps + Self.maximumLastSteps,
      let next = state.withLock({ $0.takeReady(of: executor) })
    else { return false }
    next.job.runSynchronously(on: next.executor.asUnownedTaskExecutor())
    state.withLock { $0.participants.current = current }
    return true
  }

  /// Lets time pass until the next wait is over.
  private func pass(until limit: Duration) -> Failure? {
    let result = state.withLock { state -> Result<[Call], Failure> in
      guard let next = state.calls.first?.time else { return .failure(.everybodyWaits) }
      guard next <= limit else { return .failure(.timeIsOver) }
      state.now = max(state.now, next)
      let due = state.calls.prefix { $0.time <= state.now }
      state.calls.removeFirst(due.count)
      return .success(Array(due))
    }
    switch result {
    case .success(let due):
      for call in due { call.closure() }
      return nil
    case .failure(let failure):
      return failure
    }
  }

  // MARK: Jobs

  func enqueue(_ job: consuming ExecutorJob) {
    enqueue(UnownedJob(job), of: self)
  }

  /// Adds a job, which runs on an executor of this world.
  func enqueue(_ job: UnownedJob, of executor: any TaskExecutor) {
    let task = taskOfJob(unsafeBitCast(job, to: UnsafeRawPointer.self))
    let isOutside = Schedules.current !== self
    let isOver = state.withLock { state in
      guard state.hasStarted || !state.hasEnded else { return true }
      if isOutside, state.hasStarted { state.jobsFromOutside += 1 }
      let participant = state.participants.participant(of: task)
      state.insert(Ready(job: job, participant: participant, executor: executor))
      return false
    }
    if isOver { runElsewhere(job, on: executor) } else if isOutside { arrival.signal() }
  }

  /// Runs a job that is left when the world is over.
  private func runElsewhere(_ job: UnownedJob, on executor: any TaskExecutor) {
    DispatchQueue.global().async { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
  }

  // MARK: Schedule

  var now: Duration { state.withLock { $0.now } }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  var executor: any TaskExecutor { self }

  func randomNumber() -> UInt64 { state.withLock { $0.random.next() } }

  func announce(_ name: String) -> Int { state.withLock { $0.participants.announce(name) } }

  func end(_ participant: Int) { state.withLock { $0.participants.end(participant) } }

  func call(at time: Duration, _ closure: @escaping @Sendable () -> Void) -> UInt64 {
    let number: UInt64? = state.withLock { state in
      guard !state.hasEnded else { return nil }
      state.lastCall += 1
      let index = state.calls.firstIndex { $0.time > time } ?? state.calls.endIndex
      state.calls.insert(Call(number: state.lastCall, time: time, closure: closure), at: index)
      return state.lastCall
    }
    if number == nil { closure() }
    return number ?? 0
  }

  func cancelCall(_ number: UInt64) {
    let cancelled = state.withLock { state in
      state.calls.firstIndex { $0.number == number }.map { state.calls.remove(at: $0) }
    }
    // The closures are released without the lock.
    withExtendedLifetime(cancelled) {}
  }

  nonisolated(nonsending) func settle() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.hasEnded { state.settling.append(continuation) }
        return state.hasEnded
      }
      if isOver { continuation.resume() }
    }
  }

  // MARK: What has happened

  /// Records an event that is not a job.
  func note(_ name: String) {
    state.withLock { state in
      let participant = state.participants.announce(name)
      state.participants.end(participant)
      state.steps.append(WorldStep(time: state.now, participant: participant))
    }
  }

  /// The steps so far, and their participants.
  var record: WorldRecord {
    state.withLock { state in
      WorldRecord(
        steps: state.steps,
        names: state.participants.names,
        waiting: state.participants.present,
        jobsFromOutside: state.jobsFromOutside
      )
    }
  }
}

#if compiler(>=6.3)
  // With this conformance the runtime hands sleeping jobs to their executor, so that `Task.sleep` uses the time of the
  // world.
  extension WorldSchedule: SchedulingExecutor {
    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob,
      after delay: C.Duration,
      tolerance: C.Duration?,
      clock: C
    ) {
      enqueue(UnownedJob(job), after: delay as? Duration ?? .zero)
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob,
      at instant: C.Instant,
      tolerance: C.Duration?,
      clock: C
    ) {
      enqueue(UnownedJob(job), after: clock.now.duration(to: instant) as? Duration ?? .zero)
    }

    /// The machine has needed some time since the sleep began. Rounding up nearly always hides that.
    private func enqueue(_ job: UnownedJob, after delay: Duration) {
      let (seconds, attoseconds) = delay.components
      let millisecond: Int64 = 1_000_000_000_000_000
      let whole = Duration.seconds(seconds) + .milliseconds((attoseconds + millisecond - 1) / millisecond)
      _ = call(at: now + whole) { [self] in enqueue(job, of: self) }
    }
  }
#endif

/// The time of a world.
struct WorldClock: Clock {
  typealias Instant = OffsetInstant<Duration>

  let schedule: WorldSchedule

  var now: Instant { Instant(offset: schedule.now) }

  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    try await schedule.sleep(until: deadline.offset)
  }
}

/// A job that has run, or another event.
struct WorldStep: Hashable, Sendable {
  let time: Duration
  /// The participant of the step.
  let participant: Int
}

/// The history of a world.
struct WorldRecord: Sendable {
  let steps: [WorldStep]
  let names: [String]
  /// The waiting participants.
  let waiting: [String]
  let jobsFromOutside: Int

  /// A line for each time that a participant has run, with the number of its steps.
  ///
  /// - Parameter maximum: The maximum number of lines; the last ones are kept.
  func text(last maximum: Int = .max) -> String {
    var lines: [(step: WorldStep, count: Int)] = []
    for step in steps {
      if lines.last?.step == step { lines[lines.count - 1].count += 1 } else { lines.append((step, 1)) }
    }
    let left = lines.count - min(lines.count, maximum)
    let shown = lines[left...].map { line in
      "\(milliseconds(line.step.time))  \(names[line.step.participant])\(line.count > 1 ? " ×\(line.count)" : "")"
    }
    return ((left > 0 ? ["… after \(left) lines"] : []) + shown).joined(separator: "\n")
  }

  private func milliseconds(_ time: Duration) -> String {
    let microseconds = time.wholeMicroseconds
    let fraction = String(microseconds % 1_000)
    return "\(microseconds / 1_000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) ms"
  }
}
