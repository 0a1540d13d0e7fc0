import Foundation
import SharedState
import SharedStateTesting
import Testing

/// Using a share inside its own `withLock` traps with a message, as do two threads that use each other's.
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

  @Test("Two threads that use each other's share inside withLock trap with a message that names both")
  func circle() async throws {
    let result = try #require(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Watchdog.start(endingWith: 0)
        let first = Shared(wrappedValue: 1, .appStorage("first"))
        let second = Shared(wrappedValue: 2, .appStorage("second"))
        let (inFirst, inSecond) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
          first.withLock { value in
            inFirst.signal()
            _ = inSecond.waitInTime()
            value = second.wrappedValue
          }
        }
        second.withLock { value in
          inSecond.signal()
          _ = inFirst.waitInTime()
          first.withLock { value = $0 }
        }
      }
    )
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("wait for each other"), "\(text)")
    #expect(text.contains(#".appStorage("first")"#) && text.contains(#".appStorage("second")"#), "\(text)")
  }

  @Test("Threads that nest the closures of values in the same order get their turns without a trap")
  func sameOrder() async throws {
    let shares = (0..<3).map { _ in Shared(value: 0) }
    let pairs = [(0, 1), (1, 2), (0, 2)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<3 {
        group.addTask {
          try await onThread(stackSize: 1 << 19) {
            for round in 0..<1_000 {
              let (outer, inner) = pairs[(thread + round) % 3]
              shares[outer].withLock { count in
                // Lets another thread run, which waits for this closure then.
                sched_yield()
                count += 1
                shares[inner].withLock { $0 += 1 }
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(shares.map(\.wrappedValue).reduce(0, +) == 6_000)
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
