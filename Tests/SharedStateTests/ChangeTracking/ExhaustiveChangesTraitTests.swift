import SharedState
import SharedStateTesting
import Synchronization
import Testing
import XCTest

@Suite("The exhaustiveChanges trait", .exhaustiveChanges, .timeLimit(.minutes(5)))
struct ExhaustiveChangesTraitTests {
  @Test("A test that asserts its change passes")
  func assertedChange() async {
    let count = Shared(value: 0)
    await Task.detached { count.withLock { $0 = 1 } }.value
    count.assert { $0 = 1 }
  }

  @Test("A test that skips its change passes")
  func aTestMaySkip() {
    let count = Shared(value: 0)
    count.withLock { $0 = 1 }
    count.skipChanges()
  }

  @Test("SharedChangeTracker.current is the tracker of the test")
  func currentTracker() throws {
    let count = Shared(value: 0)
    count.withLock { $0 = 1 }
    let tracker = try #require(SharedChangeTracker.current)
    #expect(tracker.hasChanges)
    tracker.assert { count.withLock { $0 = 1 } }
  }

  @Test("Each case of a test has its own tracker", .exhaustiveChanges, arguments: 1...4)
  func trackerPerCase(number: Int) throws {
    #expect(try !#require(SharedChangeTracker.current).hasChanges)
    let count = Shared(wrappedValue: 0, .inMemory("count"))
    count.withLock { $0 = number }
    count.assert { $0 = number }
  }
}

@Suite("The exhaustiveChanges trait: failures", .timeLimit(.minutes(5)))
struct ExhaustiveChangesFailureTests {
  @Test("A test that does not assert a change fails at the line of the mutation")
  func unassertedChange() async throws {
    let test = try #require(Test.current)
    let mutation = LineNumber()
    try await withKnownIssue {
      try await ExhaustiveChangesTrait.exhaustiveChanges.provideScope(for: test, testCase: nil) {
        let count = Shared(value: 0)
        await Task.detached {
          mutation.set(#line + 1)
          count.withLock { $0 = 1 }
        }.value
      }
    } matching: { issue in
      issue.sourceLocation?.fileID == #fileID && issue.sourceLocation?.line == Int(mutation.value)
        && issue.comments.contains { $0.rawValue.hasPrefix("Tracked changes to 'Shared<Int>@\(#fileID):") }
    }
  }
}

/// The code that makes a test of XCTest exhaustive.
final class ExhaustiveXCTests: XCTestCase {
  /// A task that outlives its test.
  private let task = Mutex<Task<Void, any Error>?>(nil)

  override func invokeTest() {
    let failures = FailureRecorder.failures {
      let tracker = SharedChangeTracker()
      tracker.track { super.invokeTest() }
      tracker.assert {}
    }
    task.withLock { $0?.cancel() }
    XCTAssertEqual(failures.count, name.contains("Fails") ? 1 : 0)
    XCTAssertTrue(failures.allSatisfy { $0.fileID == #fileID && $0.message.contains("− 0\n    + 1\n") })
  }

  func testAnAssertedChangePasses() {
    let count = Shared(value: 0)
    count.withLock { $0 = 1 }
    count.assert { $0 = 1 }
  }

  func testAnUnassertedChangeFails() {
    Shared(value: 0).withLock { $0 = 1 }
  }

  func testAnUnassertedChangeOfAnAsyncTestFails() async {
    let count = Shared(value: 0)
    await Task.yield()
    await Task.detached { count.withLock { $0 = 1 } }.value
  }

  func testAnUnassertedChangeFailsAlthoughATaskHoldsTheTracker() {
    task.withLock { $0 = Task { try await Task.sleep(for: .seconds(60)) } }
    Shared(value: 0).withLock { $0 = 1 }
  }
}
