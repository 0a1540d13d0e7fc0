import SharedStateDependencies
import Testing

@testable import SharedStateRedis

@Suite("The jobs of a thread that has a role", .timeLimit(.minutes(5)))
struct JobListTests {
  private final class Nothing {}

  private let now = Instant.now

  /// A list with one job for each of these values. Thread 1 is doing the first job.
  private func list(of values: LinkState.ReplicaID...) -> JobList {
    let list = JobList()
    list.begin(1)
    #expect(list.append(values.map { .settled($0, RetainedBox(Nothing(), since: .now)) }))
    _ = list.next(for: 1, after: nil, now: now)
    return list
  }

  private func owner(of next: JobList.Next) -> LinkState.Effect.Owner? {
    if case .job(let job) = next { job.owner } else { nil }
  }

  @Test("A job that runs for two ticks leaves the list together with the other jobs of its value")
  func one() {
    let list = list(of: 1, 2, 1)
    #expect(list.tick() == false)
    #expect(list.tick() == true)
    let relieved = list.relieve(by: 2) {}
    #expect(relieved?.owner == .value(1) && relieved?.jobs.map(\.owner) == [.value(1)])
    #expect(owner(of: list.next(for: 1, after: nil, now: now)) == nil)
    list.begin(2)
    #expect(owner(of: list.next(for: 2, after: nil, now: now)) == .value(2))
  }

  @Test("Time in which a thread waits for a processor does not make its job too slow")
  func waitsForAProcessor() throws {
    let list = list(of: 1)
    let thread = try #require(SystemThread.current as SystemThread?)
    #expect(thread.runDelay != nil)
    list.enter(1, thread)
    #expect(list.busyThread != nil)
    var delay = Duration.zero
    for _ in 0..<20 {
      #expect(list.tick(runDelay: delay) == false)
      delay += JobWatch.tick
    }
    #expect(list.tick(runDelay: delay) == false)
    #expect(list.tick(runDelay: delay) == true)
  }

  @Test("The list stays with its thread if no other thread can be started")
  func refused() throws {
    let list = list(of: 1, 2)
    for _ in 0..<2 { _ = list.tick() }
    let refusal = ThreadStarter.Refusal(reason: "the limit is reached")
    #expect(throws: refusal) {
      try list.relieve(by: 2) { () throws(ThreadStarter.Refusal) in throw refusal }
    }
    #expect(list.tick() == true)
    #expect(owner(of: list.next(for: 1, after: .locked(1), now: now)) == .value(2))
    guard case .report(let outcomes, let rest) = list.next(for: 1, after: nil, now: now) else {
      Issue.record("The thread has lost its list.")
      return
    }
    #expect(outcomes.count == 1 && rest.isEmpty)
  }

  @Test("The next thread reports the outcomes of earlier jobs even if no job is left")
  func outcomes() {
    let list = list(of: 1, 2)
    #expect(owner(of: list.next(for: 1, after: .locked(1), now: now)) == .value(2))
    for _ in 0..<2 { _ = list.tick() }
    #expect(list.relieve(by: 2) {}?.owner == .value(2))
    list.begin(2)
    #expect(list.append([]))
    guard case .report(let outcomes, _) = list.next(for: 2, after: nil, now: now), case .locked(1)? = outcomes.first
    else {
      Issue.record("The outcome is not reported.")
      return
    }
    #expect(!list.append([]))
  }

  @Test("Jobs after the end of a time slice are postponed, and later jobs get a new slice")
  func many() {
    let list = list(of: 1, 2, 3, 2)
    #expect(owner(of: list.next(for: 1, after: nil, now: now)) == .value(2))
    let later = now + JobList.slice
    guard case .report(let outcomes, let rest) = list.next(for: 1, after: .locked(2), now: later) else {
      Issue.record("The thread goes on.")
      return
    }
    #expect(outcomes.count == 1 && rest.map(\.owner) == [.value(3), .value(2)])
    #expect(list.append([.settled(4, nil)]))
    #expect(owner(of: list.next(for: 1, after: nil, now: later)) == .value(4))
    #expect(list.tick() == false)
  }

  @Test("Postponed jobs run value by value, and a later job of a postponed value is postponed too")
  func postponed() {
    var guarded = Link.Guarded(state: LinkState.make())
    let (rest, dropped) = guarded.postpone([.settled(1, nil), .wake, .settled(2, nil), .settled(1, nil)])
    #expect(rest.count == 1 && dropped.isEmpty)
    var todo = RemainingEffects(jobs: [.settled(3, nil), .settled(2, nil)])
    guarded.setAside(&todo)
    #expect(todo.jobs.map(\.owner) == [.value(3)])
    var owners: [Job.Owner?] = []
    while let job = guarded.nextPostponedJob() { owners.append(job.owner) }
    #expect(owners == [.value(1), .value(1), .value(2), .value(2)])
    #expect(guarded.slow.isEmpty)
  }
}
