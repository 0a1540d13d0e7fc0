import Foundation
import SharedState
import SharedStateDependencies
import Testing

@Suite("SharedChangeTracker", .timeLimit(.minutes(5)))
struct SharedChangeTrackerTests {
  @Test("Reading a value is not a change")
  func plainRead() {
    let count = Shared(value: 0)
    let tracker = SharedChangeTracker()
    tracker.track { _ = count.wrappedValue }
    #expect(!tracker.hasChanges)
  }

  @Test("An asserted change is not a failure")
  func assertedChange() {
    let failures = FailureRecorder.failures {
      let count = Shared(value: 0)
      let tracker = SharedChangeTracker()
      tracker.track { count.withLock { $0 += 1 } }
      #expect(tracker.hasChanges)
      tracker.assert { count.withLock { $0 = 1 } }
      #expect(!tracker.hasChanges)
    }
    #expect(failures.isEmpty)
  }

  @Test("An unasserted change fails at its line with the declaration and both values")
  func unassertedChangeMessage() throws {
    let declaration: UInt = #line + 3
    let mutation: UInt = #line + 5
    let failures = FailureRecorder.failures {
      let count = Shared(value: 0)
      let tracker = SharedChangeTracker()
      tracker.track {
        count.withLock { $0 += 1 }
      }
    }
    let failure = try #require(failures.first)
    #expect(failures.count == 1)
    #expect(failure.fileID == #fileID)
    #expect(failure.line == mutation)
    #expect(
      failure.message == """
        Tracked changes to 'Shared<Int>@\(#fileID):\(declaration)' but failed to assert: …

          − 0
          + 1

        (Before: −, After: +)

        Call 'Shared<Int>.assert' to exhaustively test these changes, or call 'skipChanges' to ignore them.
        """
    )
  }

  @Test("An unasserted change is recorded as an issue of the test")
  func issueOfTest() {
    let line: UInt = #line + 4
    withKnownIssue {
      let count = Shared(value: 0)
      let tracker = SharedChangeTracker()
      tracker.track { count.withLock { $0 += 1 } }
      withExtendedLifetime(tracker) {}
    } matching: { issue in
      issue.sourceLocation?.line == Int(line) && issue.sourceLocation?.fileID == #fileID
        && issue.comments.contains { $0.rawValue.contains("  − 0\n  + 1\n\n(Before: −, After: +)") }
    }
  }

  @Test("Several mutations are one change, from the first value to the last")
  func severalMutations() {
    let line: UInt = #line + 5
    let failures = FailureRecorder.failures {
      let count = Shared(value: 0)
      let tracker = SharedChangeTracker()
      tracker.track {
        count.withLock { $0 = 1 }
        count.withLock { $0 = 2 }
      }
      #expect(tracker.hasChanges)
    }
    #expect(failures.map(\.line) == [line])
    #expect(failures.first?.message.contains("  − 0\n  + 2\n") == true)
  }

  @Test("A value that equals the one before its first mutation has not changed")
  func restoredValue() {
    let failures = FailureRecorder.failures {
      let count = Shared(value: 0)
      let tracker = SharedChangeTracker()
      tracker.track {
        count.withLock { $0 = 0 }
        count.withLock { $0 = 1 }
        count.withLock { $0 = 0 }
      }
      #expect(!tracker.hasChanges)
    }
    #expect(failures.isEmpty)
  }

  @Test("Values that are not Equatable are compared by their dumps")
  func dumpComparison() {
    struct Plain { var number = 0 }
    let failures = FailureRecorder.failures {
      let (equal, changed) = (Shared(value: Plain()), Shared(value: Plain()))
      let same = SharedChangeTracker()
      same.track { equal.withLock { $0 = Plain() } }
      #expect(!same.hasChanges)
      let other = SharedChangeTracker()
      other.track { changed.withLock { $0.number = 1 } }
      #expect(other.hasChanges)
    }
    #expect(failures.count == 1)
    #expect(failures.first?.message.contains("number: 0") == true)
  }

  @Test("A difference is shown even if both values have the same dump")
  func sameDumpDifference() {
    struct Secret: Equatable, CustomStringConvertible, CustomReflectable {
      var number: Int
      var description: String { "secret" }
      var customMirror: Mirror { Mirror(self, children: [:]) }
    }
    let failures = FailureRecorder.failures {
      let secret = Shared(value: Secret(number: 0))
      SharedChangeTracker().track { secret.withLock { $0.number = 1 } }
    }
    #expect(failures.count == 1)
    #expect(failures.first?.message.contains("  −") == true)
    #expect(failures.first?.message.contains("  +") == true)
  }

  @Test("A mutation that throws is not a change")
  func throwingMutation() {
    struct Failure: Error {}
    let count = Shared(value: 0)
    let tracker = SharedChangeTracker()
    tracker.track {
      _ = try? count.withLock { count in
        count = 1
        throw Failure()
      }
    }
    #expect(!tracker.hasChanges)
  }

  @Test("A change outside the scope is not tracked")
  func changeOutsideScope() {
    let count = Shared(value: 0)
    let tracker = SharedChangeTracker()
    tracker.track {}
    count.withLock { $0 = 1 }
    #expect(!tracker.hasChanges)
  }

  @Test("reset and skipChanges discard the changes so far")
  func resettingForgetsChanges() {
    let failures = FailureRecorder.failures {
      let count = Shared(value: 0)
      let tracker = SharedChangeTracker()
      tracker.track { count.withLock { $0 = 1 } }
      tracker.reset()
      #expect(!tracker.hasChanges)
      tracker.track { count.withLock { $0 = 2 } }
      tracker.assert { count.withLock { $0 = 2 } }
      tracker.track { count.withLock { $0 = 3 } }
      tracker.skipChanges()
    }
    #expect(failures.isEmpty)
  }

  @Test("A tracker with reportUnassertedChanges set to false reports no failure")
  func silentTracker() {
    let failures = FailureRecorder.failures {
      let count = Shared(value: 0)
      let tracker = SharedChangeTracker(reportUnassertedChanges: false)
      tracker.track { count.withLock { $0 = 1 } }
      #expect(tracker.hasChanges)
    }
    #expect(failures.isEmpty)
  }

  @Test("A change on another thread is tracked and fails at its line")
  func threadChange() async throws {
    let mutation = LineNumber()
    let failures = await FailureRecorder.failures {
      let tracker = SharedChangeTracker()
      await tracker.track {
        let count = Shared(value: 0)
        await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            mutation.set(#line + 1)
            count.withLock { $0 = 1 }
            continuation.resume()
          }
        }
      }
      #expect(tracker.hasChanges)
    }
    #expect(failures.map(\.line) == [mutation.value])
  }

  @Test("Changes in a detached task are tracked")
  func detachedTaskChanges() async {
    let failures = await FailureRecorder.failures {
      let old = Shared(value: 0)
      let tracker = SharedChangeTracker()
      await tracker.track {
        let new = Shared(value: 0)
        // A change in the scope attaches a share from before the scope.
        old.withLock { $0 = 0 }
        await Task.detached {
          old.withLock { $0 = 1 }
          new.withLock { $0 = 2 }
        }.value
      }
      tracker.assert {
        old.withLock { $0 = 1 }
      }
    }
    #expect(failures.count == 1)
    #expect(failures.first?.message.contains("    − 0\n    + 2") == true)
  }

  @Test("A change in a detached task to a share made before the scope is not tracked")
  func detachedChangeBeforeScope() async {
    let tracker = SharedChangeTracker()
    let foreign = Shared(value: 0)
    await tracker.track {
      await Task.detached { foreign.withLock { $0 = 1 } }.value
    }
    #expect(!tracker.hasChanges)
  }

  @Test("Parallel trackers see only their own changes")
  func parallelTrackers() async {
    await withTaskGroup(of: Void.self) { group in
      for number in 1...8 {
        group.addTask {
          let tracker = SharedChangeTracker()
          await tracker.track {
            let count = Shared(value: 0)
            for _ in 0..<100 {
              count.withLock { $0 += number }
              await Task.yield()
            }
            #expect(tracker.hasChanges)
            tracker.assert { count.withLock { $0 = 100 * number } }
          }
        }
      }
    }
  }

  @Test("Concurrent mutations are one change, from the very first value to the last")
  func concurrentMutations() async {
    let failures = await FailureRecorder.failures {
      let tracker = SharedChangeTracker()
      await tracker.track {
        let count = Shared(value: 0)
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<4 {
            group.addTask { for _ in 0..<250 { count.withLock { $0 += 1 } } }
          }
        }
      }
    }
    #expect(failures.count == 1)
    #expect(failures.first?.message.contains("  − 0\n  + 1000\n") == true)
  }

  @Test("Only the innermost tracker sees a change")
  func innermostTracker() {
    let outer = SharedChangeTracker()
    outer.track {
      let count = Shared(value: 0)
      let inner = SharedChangeTracker()
      inner.track { count.withLock { $0 = 1 } }
      #expect(inner.hasChanges)
      #expect(!outer.hasChanges)
      inner.assert { count.withLock { $0 = 1 } }
      count.withLock { $0 = 2 }
      #expect(outer.hasChanges)
      outer.assert { count.withLock { $0 = 2 } }
    }
  }

  @Test("Dependencies track changes as long as they are held")
  func heldDependencies() {
    let (count, other) = (Shared(value: 0), Shared(value: 0))
    let (outer, tracker) = (SharedChangeTracker(), SharedChangeTracker())
    outer.track {
      withDependencies {
        tracker.track(&$0)
      } operation: {
        #expect(SharedChangeTracker.current == tracker)
        count.withLock { $0 = 1 }
        outer.track { other.withLock { $0 = 2 } }
      }
      #expect(SharedChangeTracker.current == outer)
    }
    count.withLock { $0 = 3 }
    tracker.assert {
      count.withLock { $0 = 3 }
      other.withLock { $0 = 2 }
    }
    #expect(!outer.hasChanges)
    other.withLock { $0 = 4 }
    #expect(!tracker.hasChanges)
    #expect(Set([tracker, outer, tracker]).count == 2)
  }

  @Test("A change of a part or of the whole is asserted through the other")
  func partsAndWhole() {
    struct Pair: Equatable { var first = 0; var second = 0 }
    let failures = FailureRecorder.failures {
      let pair = Shared(value: Pair())
      let tracker = SharedChangeTracker()
      tracker.track { pair.first.withLock { $0 = 1 } }
      tracker.assert { pair.withLock { $0.first = 1 } }
      tracker.track { pair.withLock { $0.second = 1 } }
      tracker.assert { pair.second.withLock { $0 = 1 } }
    }
    #expect(failures.isEmpty)
  }

  @Test("A tracker that has tracked a change is released")
  func releasedTracker() {
    weak var released: SharedChangeTracker?
    do {
      let tracker = SharedChangeTracker(reportUnassertedChanges: false)
      tracker.track { Shared(value: 0).withLock { $0 = 1 } }
      released = tracker
      #expect(released != nil)
    }
    #expect(released == nil)
  }
}
