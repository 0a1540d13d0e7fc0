import Foundation
import Testing

@testable import SharedStateDependencies

/// Each of these tests and cases increments its own counter, many at the same time.
@Suite("The isolation of tests", .timeLimit(.minutes(5)))
struct IsolationTests {
  @Dependency(\.counter) var counter

  private func expectFreshCounter() async {
    #expect(counter.increment() == 1)
    await Task.yield()
    #expect(counter.increment() == 2)
    #expect(await Task { counter.increment() }.value == 3)
    async let child = counter.increment()
    #expect(await child == 4)
  }

  @Test("A test has fresh values")
  func testHasFreshValues() async { await expectFreshCounter() }

  @Test("Another test with the same body has fresh values")
  func secondFreshTest() async { await expectFreshCounter() }

  @Test("Each case of a parameterised test has fresh values", arguments: 0..<200)
  func caseHasFreshValues(index: Int) async { await expectFreshCounter() }

  @Test("Cases with equal arguments have separate fresh values", arguments: ["equal", "equal", "other"])
  func equalArguments(text: String) async { await expectFreshCounter() }

  @Test("Each combination of arguments has fresh values", arguments: 0..<5, ["a", "b", "a"])
  func combinedArguments(index: Int, text: String) async { await expectFreshCounter() }

  struct Opaque: Sendable, CustomStringConvertible {
    let description = "opaque"
  }

  @Test("Cases with opaque arguments have fresh values", arguments: [Opaque(), Opaque(), Opaque()])
  func opaqueArguments(argument: Opaque) async { await expectFreshCounter() }

  @Test("Cases whose arguments are closures have fresh values", arguments: [{ 1 }, { 2 }] as [@Sendable () -> Int])
  func closureArguments(argument: @Sendable () -> Int) async { await expectFreshCounter() }

  @Test("A scope within a test keeps the values of the test")
  func scopeWithinTest() async {
    let outside = counter
    withDependencies {
      $0.name = "scope"
    } operation: {
      #expect(counter === outside)
    }
  }

  @Test("Detached tasks and threads use the cache of the process")
  func processCache() async {
    let detached = await Task.detached { DependencyCache.current }.value
    #expect(detached === DependencyCache.process)
    let onThread = await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: DependencyCache.current) }
    }
    #expect(onThread === DependencyCache.process)
    #expect(DependencyCache.current !== DependencyCache.process)
  }

  @Test("IssueReporting identifies the current test, except in a detached task")
  func identifiedTest() async {
    let run = TestRun.issueReportingCurrent
    #expect(run != nil)
    #expect(await Task { TestRun.issueReportingCurrent }.value == run)
    #expect(await Task.detached { TestRun.issueReportingCurrent }.value == nil)
  }
}
