import SharedStateTesting
import Synchronization
import Testing

@testable import SharedState

/// Events for a value while one of the program's closures has it: no thread waits, and no event is lost.
@Suite("A value locked by a closure", .timeLimit(.minutes(5)))
struct LockedValueTests {
  private let box = ValueBox([0])
  private var share: Shared<[Int]> { Shared(box.place) }

  @Test("A remote change during a closure is applied immediately after the closure")
  func changeDuringClosure() async {
    let (told, outcomes) = (Log<[Int]>(), Log<Replacement>())
    let observation = box.place.observe { told.append($0) }
    let held = HeldLock(share) { $0.append(1) }
    #expect(box.replace(with: [2], whenUnlocked: { outcomes.append($0) }) == nil)
    #expect(outcomes.values == [])
    held.end()
    await until("the last notified value", told.values.last, is: [2])
    #expect(told.values == [[0], [0, 1], [2]])
    // Observers hear of the change before the caller that left it does.
    await until("the outcomes", outcomes.values, is: [.done])
    #expect(box.versions == Versions(local: 1, remote: 1))
    withExtendedLifetime(observation) {}
  }

  /// Remembers the code that was named.
  private final class Naming: BoxPersistence, Sendable {
    let named = Log<String>()
    var keyDescription: String { ".naming" }
    var reportsUnreadErrors: Bool { true }
    func boxDidMutate() {}
    func load(within timeout: Duration?) async throws {}
    func save(replacingUnreadable: Bool, within timeout: Duration?) async throws {}
    func reset(within timeout: Duration?) async throws {}
    func isBlocked(by code: BlockedCode, share: String, sharedAt place: String?) {
      named.append("\(code) of \(share)")
    }
  }

  @Test("A closure that keeps a remote change waiting for a second is reported once")
  func reportedClosure() async {
    let naming = Naming()
    let box = ValueBox([0], persistence: naming)
    for round in 1...2 {
      let held = HeldLock(Shared(box.place)) { $0.append(1) }
      #expect(box.replace(with: [round + 1]) == nil)
      if round == 1 {
        await until("the named code", naming.named.values, is: ["closure of Shared<Array<Int>>(.naming)"])
      } else {
        // The second round is over when the closure of another value, which began later, is named.
        let other = Naming()
        let next = ValueBox([0], persistence: other)
        let nextHeld = HeldLock(Shared(next.place)) { $0.append(1) }
        #expect(next.replace(with: [1]) == nil)
        await until("the number of named closures", other.named.values.count, is: 1)
        nextHeld.end()
      }
      held.end()
      await until("the number of remote changes", box.remoteChanges, is: UInt64(round))
    }
    #expect(naming.named.values.count == 1)
  }

  @Test("A closure that keeps no change waiting is not reported")
  func unreportedClosure() async {
    let (quiet, other) = (Naming(), Naming())
    let (box, next) = (ValueBox([0], persistence: quiet), ValueBox([0], persistence: other))
    // A change that had to wait for a moment only.
    let short = HeldLock(Shared(box.place)) { $0.append(1) }
    #expect(box.replace(with: [2]) == nil)
    short.end()
    await until("the number of remote changes", box.remoteChanges, is: 1)
    let held = HeldLock(Shared(box.place)) { $0.append(1) }
    let nextHeld = HeldLock(Shared(next.place)) { $0.append(1) }
    #expect(next.replace(with: [1]) == nil)
    await until("the number of named closures", other.named.values.count, is: 1)
    #expect(quiet.named.values == [])
    held.end()
    nextHeld.end()
  }

  @Test("A remote change is applied after a closure that throws")
  func throwingClosure() async {
    let held = HeldLock(share) { _ in throw TestError() }
    #expect(box.replace(with: [2]) == nil)
    held.end()
    await until("the number of remote changes", box.remoteChanges, is: 1)
    #expect(share.wrappedValue == [2])
    #expect(box.stamp == 0)
  }

  @Test("A remote change is applied after a closure of a part")
  func closureOfPart() async {
    struct Whole {
      var stored = 1
      var computed: Int {
        get { stored }
        set { stored = newValue }
      }
    }
    for isThrowing in [false, true] {
      let box = ValueBox(Whole())
      let whole = Shared(box.place)
      for (number, part) in [whole.stored, whole.computed].enumerated() {
        let held = HeldLock(part) { if isThrowing { throw TestError() } else { $0 += 10 } }
        #expect(box.replace(with: Whole(stored: number)) == nil)
        held.end()
        await until("the part", part.wrappedValue, is: number)
        #expect(whole.wrappedValue.stored == number)
      }
    }
  }

  @Test("A remote change is applied after a closure that is tracked")
  func trackedClosure() async {
    let tracker = SharedChangeTracker(reportUnassertedChanges: false)
    for isThrowing in [false, true] {
      let value = ValueBox([0])
      tracker.track {
        let held = HeldLock(Shared(value.place)) { if isThrowing { throw TestError() } else { $0 = [1] } }
        #expect(value.replace(with: [2]) == nil)
        held.end()
      }
      await until("the value", value.value, is: [2])
    }
  }

  @Test("A remote change during an assertion is applied after its closure")
  func changeDuringAssertion() {
    let tracker = SharedChangeTracker()
    tracker.track { share.withLock { $0 = [1] } }
    // An assertion exchanges the expected value and the real one, and exchanges them back.
    tracker.assert {
      share.withLock {
        #expect(box.replace(with: [2]) == nil)
        $0 = [2]
      }
    }
    #expect(share.wrappedValue == [2])
  }

  @Test("A remote change from inside the closure is applied after the closure")
  func changeInsideClosure() {
    share.withLock { value in
      #expect(box.replace(with: [2]) == nil)
      value = [1]
    }
    #expect(share.wrappedValue == [2])
  }

  @Test("Of several remote changes during a closure, only the newest is applied")
  func newestChange() async {
    let outcomes = Log<String>()
    let held = HeldLock(share)
    for number in [1, 3, 2] as [UInt64] {
      let left = box.replace(
        with: [Int(number)],
        number: number,
        whenUnlocked: { outcome in
          outcomes.append("\(number) \(outcome)")
        }
      )
      #expect(left == nil)
    }
    #expect(outcomes.values == ["1 outdated", "2 outdated"])
    held.end()
    await until("the number of outcomes", outcomes.values.count, is: 3)
    #expect(outcomes.values.last == "3 done")
    #expect(share.wrappedValue == [3])
  }

  @Test("A local change by the closure supersedes a remote change that waits for it")
  func supersedingChange() async {
    let outcomes = Log<Replacement>()
    let held = HeldLock(share) { $0 = [1] }
    _ = box.replace(with: [2], if: { $0.local == 0 ? .done : .superseded }, whenUnlocked: { outcomes.append($0) })
    held.end()
    await until("the outcomes", outcomes.values, is: [.superseded])
    #expect(share.wrappedValue == [1])
  }

  @Test("A snapshot requested during a closure is taken immediately after it")
  func snapshotAfterClosure() async {
    let snapshots = Log<[Int]>()
    let held = HeldLock(share) { $0.append(1) }
    #expect(box.snapshot { snapshots.append($0.value) } == nil)
    #expect(snapshots.values == [])
    held.end()
    await until("the snapshots", snapshots.values, is: [[0, 1]])
    #expect(box.mutationNotice != nil)
  }

  @Test("The status is set and read during a closure")
  func statusDuringClosure() {
    let held = HeldLock(share)
    box.updateStatus { $0.saveError = TestError() }
    #expect(share.saveError is TestError)
    held.end()
  }

  @Test("An observation cancelled during a closure is not notified of its change")
  func anObservationEndsMeanwhile() async {
    let told = Log<[Int]>()
    let observation = box.place.observe { told.append($0) }
    let held = HeldLock(share) { $0 = [1] }
    observation.cancel()
    held.end()
    await until("withLock has returned", held.hasReturned, is: true)
    #expect(told.values == [[0]])
  }

  // MARK: Keys

  @Test("A subscriber does not wait for a closure, and a late value keeps the newer error")
  func unblockedSubscriber() async {
    let backend = ScriptedBackend<Int>()
    let count = Shared(wrappedValue: 0, .scripted(backend))
    let held = HeldLock(count) { _ in throw TestError() }
    backend.yield(1)
    backend.yield(2)
    backend.subscribers.elements[0].yield(throwing: TestError(number: 1))
    #expect(count.loadError as? TestError == TestError(number: 1))
    held.end()
    await until("the value", count.wrappedValue, is: 2)
    // The value that was shown late does not clear an error that was heard of since.
    #expect(count.loadError as? TestError == TestError(number: 1))
  }

  @Test("A load during a closure ends once its value is shown")
  func loadDuringClosure() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    let count = Shared(wrappedValue: 0, .scripted(backend))
    backend.loads.elements[0].continuation.resumeReturningInitialValue()
    let load = Task { try await count.load() }
    await backend.loads.wait(count: 2)
    let held = HeldLock(count) { _ in throw TestError() }
    backend.loads.elements[1].continuation.resume(returning: 7)
    #expect(count.isLoading)
    held.end()
    try await load.value
    #expect(count.wrappedValue == 7)
    #expect(!count.isLoading)
  }

  @Test("A save requested during a closure stores the value that the closure leaves")
  func saveDuringClosure() async throws {
    let backend = ScriptedBackend<Int>()
    let count = Shared(wrappedValue: 0, .scripted(backend))
    let held = HeldLock(count) { $0 = 1 }
    let save = Task { try await count.save() }
    held.end()
    try await save.value
    await until("the last saved value", backend.savedValues.last, is: 1)
    // Otherwise the save that the change itself requests may still come.
    await until("withLock has returned", held.hasReturned, is: true)
    let other = HeldLock(count) { _ in throw TestError() }
    let again = Task { try await count.save() }
    let before = backend.saves.count
    other.end()
    try await again.value
    #expect(backend.saves.count == before + 1)
  }

  // MARK: Everything at once

  @Test("No remote change or snapshot is lost while several threads run closures")
  func concurrentClosures() async {
    let count = Shared(box.place)
    let outcomes = Log<Replacement>()
    let snapshots = Log<[Int]>()
    let (changes, closures) = (2_000, 4)
    await withTaskGroup(of: Void.self) { group in
      for closure in 0..<closures {
        group.addTask {
          for round in 0..<changes {
            try? count.withLock { value in
              if (round + closure) % 3 == 0 { throw TestError() }
              value = [round]
            }
            _ = count.wrappedValue
          }
        }
      }
      group.addTask { [box] in
        for number in 1...UInt64(changes) {
          let outcome = box.replace(with: [-1], number: number, whenUnlocked: { outcomes.append($0) })
          if let outcome { outcomes.append(outcome) }
        }
      }
      group.addTask { [box] in
        for round in 0..<changes {
          if let snapshot = box.snapshot(whenUnlocked: { snapshots.append($0.value) }) {
            snapshots.append(snapshot.value)
          }
          // One snapshot at a time, as in an encoder.
          while snapshots.values.count <= round { await Task.yield() }
        }
      }
    }
    await until("the number of outcomes", outcomes.values.count, is: changes)
    #expect(snapshots.values.count == changes)
    #expect(box.notifications.load(ordering: .relaxed) == 0)
  }
}
