import SharedStateDependencies
import Testing

@testable import SharedStateRedis

@Suite("The jobs of a thread that has a role", .timeLimit(.minutes(5)))
struct JobListTests {
  private final class Nothing {}

  /// A list with one job for each of these values. Thread 1 is doing the first job.
  private func list(of values: LinkState.ReplicaID...) -> JobList {
    let list = JobList()
    list.begin(1)
    #expect(list.append(values.map { .settled($0, Kept(Nothing())) }))
    _ = list.next(for: 1, after: nil)
    return list
  }

  private func owner(of next: JobList.Next) -> LinkState.Effect.Owner? {
    if case .job(let job) = next { job.owner } else { nil }
  }

  @Test("a job that is seen twice takes too long, and takes the other jobs of its value with it")
  func one() {
    let list = list(of: 1, 2, 1)
    #expect(list.tick() == JobList.Delay.none)
    #expect(list.tick() == .ofOne)
    let relieved = list.relieve(by: 2) {}
    #expect(relieved?.owner == .value(1) && relieved?.jobs.map(\.owner) == [.value(1)])
    #expect(owner(of: list.next(for: 1, after: nil)) == nil)
    list.begin(2)
    #expect(owner(of: list.next(for: 2, after: nil)) == .value(2))
  }

  @Test("the list stays with its thread when no other thread can be started")
  func refused() throws {
    let list = list(of: 1, 2)
    for _ in 0..<2 { _ = list.tick() }
    let refusal = ThreadStarter.Refusal(reason: "the limit is reached")
    #expect(throws: refusal) {
      try list.relieve(by: 2) { () throws(ThreadStarter.Refusal) in throw refusal }
    }
    #expect(list.tick() == .ofOne)
    guard case .report(let outcomes, false) = list.next(for: 1, after: .locked(1)), outcomes.count == 1 else {
      Issue.record("The thread has lost its list.")
      return
    }
    #expect(owner(of: list.next(for: 1, after: nil)) == .value(2))
  }

  @Test("the next thread reports the outcomes of jobs before the slow one, even if no job is left")
  func outcomes() {
    let list = list(of: 1, 2)
    #expect(owner(of: list.next(for: 1, after: .locked(1))) == .value(2))
    for _ in 0..<2 { _ = list.tick() }
    #expect(list.relieve(by: 2) {}?.owner == .value(2))
    list.begin(2)
    #expect(list.append([]))
    guard case .report(let outcomes, true) = list.next(for: 2, after: nil), case .locked(1)? = outcomes.first else {
      Issue.record("The outcome is not reported.")
      return
    }
    #expect(!list.append([]))
  }

  @Test("if many jobs are each seen once, the waiting ones are taken away, except those of the same value")
  func many() {
    let list = list(of: 1, 2, 3, 2, 1)
    #expect(list.tick() == JobList.Delay.none)
    #expect(owner(of: list.next(for: 1, after: nil)) == .value(2))
    #expect(list.tick() == .ofMany)
    #expect(list.takeRest().map(\.owner) == [.value(3), .value(1)])
    #expect(owner(of: list.next(for: 1, after: nil)) == .value(2))
    #expect(owner(of: list.next(for: 1, after: nil)) == nil)
    // New jobs get the full time again.
    #expect(list.append([.settled(4, nil), .wake(.writer)]))
    #expect(owner(of: list.next(for: 1, after: nil)) == .value(4))
    #expect(list.tick() == JobList.Delay.none)
    #expect(list.takeRest().isEmpty)
  }

  @Test("if one job after another takes too long, the waiting ones are taken away when the second is seen")
  func manyTooLong() {
    let list = list(of: 1, 2, 3)
    #expect(list.tick() == JobList.Delay.none)
    #expect(list.tick() == .ofOne)
    #expect(list.relieve(by: 2) {}?.owner == .value(1))
    list.begin(2)
    #expect(owner(of: list.next(for: 2, after: nil)) == .value(2))
    #expect(list.tick() == .ofMany)
    #expect(list.takeRest().map(\.owner) == [.value(3)])
  }

  @Test("there are few helpers while they make progress, and one more each time that they do not")
  func helpers() {
    var backlog = Backlog()
    let none = backlog.needsHelper()
    #expect(!none)
    for number in 0..<100 { backlog.append(.value(UInt64(number))) }
    for _ in 0..<Backlog.maximumHelpers {
      _ = backlog.popFirst()
      let isNeeded = backlog.needsHelper()
      #expect(isNeeded)
      backlog.beginHelper()
    }
    _ = backlog.popFirst()
    let isNeededWhileTheyGetOn = backlog.needsHelper()
    #expect(!isNeededWhileTheyGetOn)
    let isNeededWhenTheyAreStuck = backlog.needsHelper()
    #expect(isNeededWhenTheyAreStuck)
  }
}
