import CustomDump
@testable import SharedState
import SharedStateTesting
import Synchronization
import Testing

@Suite("Assertions of changes", .timeLimit(.minutes(5)))
struct AssertionTests {
  private struct Pair: Equatable {
    var first = 0
    var second = 0
    var sum: Int {
      get { first + second }
      set { first = newValue - second }
    }
  }

  @Test("A share asserts its change, starting from the last asserted value")
  func successiveAssertions() {
    let failures = FailureRecorder.failures {
      let count = Shared(value: 1)
      let tracker = SharedChangeTracker()
      tracker.track {
        count.withLock { $0 += 1 }
        count.assert { $0 = 2 }
        count.withLock { $0 += 1 }
      }
      // The closure starts with the value before the change, which is the one that was asserted last.
      count.assert { $0 += 1 }
      #expect(!tracker.hasChanges)
    }
    #expect(failures.isEmpty)
  }

  @Test("A wrong assertion fails where it is made and shows the difference")
  func wrongShareAssertion() {
    let line: UInt = #line + 5
    let failures = FailureRecorder.failures {
      let count = Shared(value: 0)
      let tracker = SharedChangeTracker()
      tracker.track { count.withLock { $0 = 1 } }
      count.assert { $0 = 2 }
      #expect(!tracker.hasChanges)
    }
    #expect(failures.map(\.line) == [line])
    #expect(
      failures.first?.message == """
        A state change does not match expectation: …

            − 2
            + 1

        (Expected: −, Actual: +)
        """
    )
  }

  @Test("A wrong assertion of a tracker fails at the statement about the value")
  func wrongTrackerAssertion() {
    let line: UInt = #line + 9
    let failures = FailureRecorder.failures {
      let (count, other) = (Shared(value: 0), Shared(value: 0))
      let tracker = SharedChangeTracker()
      tracker.track {
        for share in [count, other] { share.withLock { $0 = 1 } }
      }
      tracker.assert {
        other.withLock { $0 = 1 }
        count.withLock { $0 = 2 }
      }
      #expect(!tracker.hasChanges)
    }
    #expect(failures.map(\.line) == [line])
    #expect(failures.map(\.message) == [ChangeAssertion.unexpected(expected: 2, actual: 1)])
  }

  @Test("A change that an assertion leaves out fails where it was made")
  func omittedChange() {
    let line: UInt = #line + 5
    let failures = FailureRecorder.failures {
      let (count, other) = (Shared(value: 0), Shared(value: 0))
      let tracker = SharedChangeTracker()
      tracker.track {
        count.withLock { $0 = 1 }
        other.withLock { $0 = 1 }
      }
      tracker.assert { other.withLock { $0 = 1 } }
      #expect(!tracker.hasChanges)
    }
    #expect(failures.map(\.line) == [line])
    #expect(
      failures.first?.message == """
        State was not expected to change, but a change occurred: …

            − 0
            + 1

        (Expected: −, Actual: +)
        """
    )
  }

  @Test("Inside an assertion, a share equals itself once the expectation is right")
  func shareEqualToItself() {
    let (count, other, unchanged) = (Shared(value: 0), Shared(value: 0), Shared(value: 7))
    let tracker = SharedChangeTracker()
    tracker.track {
      for share in [count, other] { share.withLock { $0 = 1 } }
    }
    let same = Shared(projectedValue: count)
    tracker.assert {
      #expect(count != count)
      #expect(count != same)
      #expect(unchanged == unchanged)
      // Two values are compared as they are.
      #expect(count == other)
      count.withLock { $0 = 2 }
      #expect(count != count)
      count.withLock { $0 = 1 }
      #expect(count == count)
      #expect(count == same)
      #expect(other != other)
      other.withLock { $0 = 1 }
    }
    #expect(count == count)
  }

  @Test("Inside an assertion, a part equals itself once the expectation is right")
  func partEqualToItself() {
    let pair = Shared(value: Pair())
    let tracker = SharedChangeTracker()
    tracker.track { pair.withLock { $0.first = 1 } }
    tracker.assert {
      #expect(pair.first != pair.first)
      #expect(pair.sum != pair.sum)
      #expect(pair.second == pair.second)
      pair.first.withLock { $0 = 1 }
      #expect(pair.first == pair.first)
      #expect(pair.sum == pair.sum)
    }
  }

  @Test("Comparing an unchanged share inside an assertion expects no change")
  func unchangedShareComparison() {
    let (count, unchanged) = (Shared(value: 0), Shared(value: 7))
    let failures = FailureRecorder.failures {
      let tracker = SharedChangeTracker()
      tracker.track { count.withLock { $0 = 1 } }
      tracker.assert {
        #expect(unchanged == unchanged)
        #expect(diff(unchanged, unchanged) == nil)
        count.withLock { $0 = 1 }
      }
    }
    #expect(failures.map(\.message) == [])
  }

  @Test("Inside an assertion, the difference of a state from itself shows expected and present values")
  func differenceFromItself() {
    struct Counts: Equatable {
      @Shared var first: Int
      @Shared var second: Int
    }
    let counts = Counts(first: Shared(value: 0), second: Shared(value: 5))
    let tracker = SharedChangeTracker()
    tracker.track {
      counts.$first.withLock { $0 = 1 }
      counts.$second.withLock { $0 = 6 }
    }
    tracker.assert {
      let difference = diff(counts, counts, format: .proportional)
      #expect(difference?.contains("−   _first: 0,\n+   _first: 1,\n") == true)
      #expect(difference?.contains("−   _second: #1 5\n+   _second: #1 6\n") == true)
      counts.$first.withLock { $0 = 1 }
      counts.$second.withLock { $0 = 6 }
      #expect(diff(counts, counts) == nil)
    }
  }

  @Test("Reading a share inside an assertion returns its expected value")
  func expectedValueRead() {
    let failures = FailureRecorder.failures {
      let (count, total, other) = (Shared(value: 1), Shared(value: 10), Shared(value: 5))
      let tracker = SharedChangeTracker()
      tracker.track {
        count.withLock { $0 = 2 }
        total.withLock { $0 = 20 }
      }
      tracker.assert {
        #expect(count.wrappedValue == 1)
        #expect(SharedReader(total).wrappedValue == 10)
        #expect(other.wrappedValue == 5)
        count.withLock { $0 += 1 }
        #expect(count.wrappedValue == 2)
        total.withLock { $0 = count.wrappedValue * 10 }
      }
      #expect(count.wrappedValue == 2)
    }
    #expect(failures.isEmpty)
  }

  @Test("Comparing two shares inside an assertion compares their expected values")
  func comparedShares() {
    let failures = FailureRecorder.failures {
      let (one, two) = (Shared(value: 1), Shared(value: 1))
      let tracker = SharedChangeTracker()
      tracker.track {
        one.withLock { $0 = 2 }
        two.withLock { $0 = 3 }
      }
      tracker.assert {
        #expect(one == two)
        #expect(SharedReader(one) == SharedReader(two))
        one.withLock { $0 = 2 }
        #expect(one != two)
        // With itself, a share compares the expected value with the present one, and so does a reader of it.
        #expect(one == one)
        #expect(two != two)
        #expect(SharedReader(two) != SharedReader(two))
        two.withLock { $0 = 3 }
        #expect(two == two)
      }
    }
    #expect(failures.isEmpty)
  }

  @Test("An assertion of one share reads the expected value of another")
  func expectedValueOfOther() {
    let failures = FailureRecorder.failures {
      let (count, other) = (Shared(value: 1), Shared(value: 1))
      let tracker = SharedChangeTracker()
      tracker.track {
        count.withLock { $0 = 2 }
        other.withLock { $0 = 3 }
      }
      count.assert { $0 = other.wrappedValue + 1 }
      // Once it is asserted, the present value is the expected one.
      other.assert { $0 = count.wrappedValue + 1 }
      #expect(!tracker.hasChanges)
    }
    #expect(failures.isEmpty)
  }

  @Test("An assertion of one share states the changes of others")
  func statedChangesOfOthers() {
    let failures = FailureRecorder.failures {
      let (count, other, wrong) = (Shared(value: 1), Shared(value: 1), Shared(value: 1))
      let tracker = SharedChangeTracker()
      tracker.track {
        for share in [count, other, wrong] { share.withLock { $0 = 3 } }
      }
      count.assert {
        $0 = 3
        other.withLock { $0 = 3 }
        wrong.withLock { $0 = 4 }
      }
      #expect(!tracker.hasChanges)
      #expect([count, other, wrong].map(\.wrappedValue) == [3, 3, 3])
    }
    #expect(failures.map(\.message) == [ChangeAssertion.unexpected(expected: 4, actual: 3)])
  }

  @Test("Asserting a change that did not happen fails")
  func absentChange() {
    let failures = FailureRecorder.failures {
      let count = Shared(value: 0)
      let tracker = SharedChangeTracker()
      tracker.track {}
      tracker.assert { count.withLock { $0 = 0 } }
      count.assert { $0 = 0 }
    }
    #expect(failures.map(\.message) == Array(repeating: "Expected state to change, but no change occurred.", count: 2))
  }

  @Test("An assertion fails for a change that it does not state")
  func anAssertionIsExhaustive() {
    let failures = FailureRecorder.failures {
      let (asserted, forgotten) = (Shared(value: 0), Shared(value: ""))
      let tracker = SharedChangeTracker()
      tracker.track {
        asserted.withLock { $0 = 1 }
        forgotten.withLock { $0 = "x" }
      }
      tracker.assert { asserted.withLock { $0 = 1 } }
    }
    #expect(failures.map(\.message) == [ChangeAssertion.unexpected(expected: "", actual: "x", isStated: false)])
  }

  @Test("An assertion changes no value, notifies no observer and saves nothing")
  func assertionWithoutEffects() throws {
    let told = Mutex<[Int]>([])
    let saved = SaveCounter()
    let count = Shared(wrappedValue: 0, CountingKey(saved: saved))
    let observation = count.observation { value in told.withLock { $0.append(value) } }
    observation.start()
    let tracker = SharedChangeTracker()
    tracker.track { count.withLock { $0 = 1 } }
    let saves = saved.count
    let version = count.projection.place.box.version
    tracker.assert { count.withLock { $0 = 1 } }
    tracker.track { count.withLock { $0 = 2 } }
    count.assert { $0 = 2 }
    #expect(saves == 1)
    #expect(saved.count == 2)
    #expect(told.withLock { $0 } == [0, 1, 2])
    #expect(count.projection.place.box.version == version + 1)
    #expect(count.wrappedValue == 2)
  }

  @Test("A derived share asserts only its part")
  func derivedShareAssertion() {
    let failures = FailureRecorder.failures {
      let pair = Shared(value: Pair())
      let tracker = SharedChangeTracker()
      tracker.track { pair.withLock { $0 = Pair(first: 1, second: 2) } }
      pair.first.assert { $0 = 1 }
      #expect(tracker.hasChanges)
      pair.second.assert { $0 = 2 }
      #expect(!tracker.hasChanges)
    }
    #expect(failures.isEmpty)
  }

  @Test("A computed part asserts its change")
  func computedPartAssertion() {
    let failures = FailureRecorder.failures {
      let pair = Shared(value: Pair())
      let tracker = SharedChangeTracker()
      tracker.track { pair.sum.withLock { $0 = 3 } }
      pair.sum.assert { $0 = 3 }
      tracker.track { pair.sum.withLock { $0 = 4 } }
      tracker.assert { pair.sum.withLock { $0 = 4 } }
    }
    #expect(failures.isEmpty)
  }

  @Test("skipChanges ignores the changes of one share")
  func skippedShare() {
    let failures = FailureRecorder.failures {
      let (skipped, kept) = (Shared(value: 0), Shared(value: 0))
      let tracker = SharedChangeTracker()
      tracker.track {
        skipped.withLock { $0 = 1 }
        kept.withLock { $0 = 1 }
      }
      skipped.skipChanges()
      #expect(tracker.hasChanges)
      kept.skipChanges()
      #expect(!tracker.hasChanges)
    }
    #expect(failures.isEmpty)
  }

  @Test("An assertion that throws leaves the changes unasserted")
  func throwingAssertion() {
    struct Failure: Error {}
    let count = Shared(value: 0)
    let tracker = SharedChangeTracker(reportUnassertedChanges: false)
    tracker.track { count.withLock { $0 = 1 } }
    #expect(throws: Failure.self) { try tracker.assert { throw Failure() } }
    #expect(throws: Failure.self) { try count.assert { _ in throw Failure() } }
    #expect(tracker.hasChanges)
  }

  @Test("A change is tracked and asserted by closures that suspend")
  func assertionsMaySuspend() async {
    let count = Shared(value: 0)
    let tracker = SharedChangeTracker()
    await tracker.track {
      await Task.yield()
      count.withLock { $0 = 1 }
    }
    await tracker.assert {
      await Task.yield()
      count.withLock { $0 = 1 }
    }
    #expect(!tracker.hasChanges)
  }

  @Test("Another thread reads only real values while assertions run")
  func otherThreadReads() async throws {
    let count = Shared(value: 0)
    let tracker = SharedChangeTracker()
    tracker.track { count.withLock { $0 = 1 } }
    let isReading = Atomic(false)
    let isOver = Atomic(false)
    defer { isOver.store(true, ordering: .relaxed) }
    // A task that only reads would keep a thread from all other tests.
    let reader = Task {
      try await onThread(stackSize: 1 << 20) {
        var seen: Set<Int> = []
        repeat {
          seen.insert(count.wrappedValue)
          isReading.store(true, ordering: .relaxed)
        } while !isOver.load(ordering: .relaxed)
        return seen
      }
    }
    await until("the thread reads", isReading.load(ordering: .relaxed), is: true)
    for _ in 0..<100 {
      // An expected value that never becomes the real one.
      withKnownIssue { tracker.assert { count.withLock { $0 = 2 } } }
      tracker.track { count.withLock { $0 = 0 } }
      tracker.reset()
      tracker.track { count.withLock { $0 = 1 } }
    }
    tracker.reset()
    isOver.store(true, ordering: .relaxed)
    let seen = try await reader.value
    #expect(seen.isSubset(of: [0, 1]))
  }
}

/// Counts the calls of `save`.
private struct CountingKey: SharedKey {
  let saved: SaveCounter

  var id: ObjectIdentifier { ObjectIdentifier(saved) }

  func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
    continuation.resumeReturningInitialValue()
  }

  func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
    SharedSubscription {}
  }

  func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
    saved.increment()
    continuation.resume()
  }
}

private final class SaveCounter: Sendable {
  private let saves = Mutex(0)
  var count: Int { saves.withLock { $0 } }
  func increment() { saves.withLock { $0 += 1 } }
}
