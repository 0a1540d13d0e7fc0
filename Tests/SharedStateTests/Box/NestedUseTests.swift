import Foundation
import SharedState
import SharedStateTesting
import Testing

/// Using a share inside its own `withLock` traps with a message.
@Suite("A share inside its own withLock", .timeLimit(.minutes(5)))
struct NestedUseTests {
  @Test("Reading a share inside its own withLock traps with a message")
  func readingTraps() async throws {
    let result = try #require(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Watchdog.start(endingWith: 0)
        let shared = Shared(value: 1)
        shared.withLock { $0 = shared.wrappedValue }
      }
    )
    #expect(saysWhy(result))
  }

  @Test("Mutating a share inside its own withLock traps with a message")
  func mutatingTraps() async throws {
    let result = try #require(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Watchdog.start(endingWith: 0)
        let shared = Shared(value: 1)
        shared.withLock { _ in shared.withLock { $0 += 1 } }
      }
    )
    #expect(saysWhy(result))
  }

  @Test("The trap names the key and the file of the declaration")
  func trapMessage() async throws {
    let result = try #require(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Watchdog.start(endingWith: 0)
        @Shared(.appStorage("visits")) var visits = 1
        $visits.withLock { $0 = visits }
      }
    )
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains(#"'Shared<Int>(.appStorage("visits"))@SharedStateTests/NestedUseTests.swift:"#), "\(text)")
  }

  @Test("Reading a derived share inside withLock of the whole traps with a message")
  func derivedShareTraps() async throws {
    let result = try #require(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Watchdog.start(endingWith: 0)
        let shared = Shared(value: [1])
        let count = shared.count
        try shared.withLock { value throws(CancellationError) in value.append(count.wrappedValue) }
      }
    )
    #expect(saysWhy(result))
  }

  @Test("Reading the whole inside withLock of its computed part traps with a message")
  func wholeInsideComputedPart() async throws {
    let result = try #require(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Watchdog.start(endingWith: 0)
        let shared = Shared(value: ["a": 1])
        shared["a"].withLock { $0 = shared.wrappedValue.count }
      }
    )
    #expect(saysWhy(result))
  }

  @Test("isLoading is readable inside withLock of its own share")
  func readableLoadingStatus() {
    let shared = Shared(value: true)
    shared.withLock { $0 = shared.isLoading }
    #expect(!shared.wrappedValue)
  }

  @Test("A nested read traps even while other threads wait to read")
  func trapDespiteWaitingReaders() async throws {
    let result = try #require(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Watchdog.start(endingWith: 0)
        // After a hang the process ends without an error, which fails the expectation.
        Thread.detachNewThread {
          sleep(20)
          exit(0)
        }
        let shared = Shared(value: 1)
        for _ in 0..<2 {
          Thread.detachNewThread {
            while true { _ = shared.wrappedValue }
          }
        }
        while true {
          shared.withLock { value in
            let deadline = ContinuousClock.now + .milliseconds(5)
            while ContinuousClock.now < deadline {}
            value += shared.wrappedValue
          }
        }
      }
    )
    #expect(saysWhy(result))
  }

  @Test("Another share is readable inside withLock")
  func otherShareInside() {
    let one = Shared(value: 1)
    let two = Shared(value: 2)
    one.withLock { $0 += two.wrappedValue }
    #expect(one.wrappedValue == 3)
  }

  private func saysWhy(_ result: ExitTest.Result) -> Bool {
    String(decoding: result.standardErrorContent, as: UTF8.self).contains("inside its own 'withLock'")
  }
}
