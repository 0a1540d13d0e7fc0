import Foundation
@testable import SharedStateRedis
import Synchronization
import Testing

/// The stores that a test has made. They end with the test, whatever its outcome: a store with a change that it can no
/// longer deliver would keep itself alive and reconnect for as long as the process runs.
struct TestStores: SuiteTrait, TestTrait, TestScoping {
  fileprivate final class Kept: Sendable {
    let stores = Mutex<[RedisStore]>([])
  }

  @TaskLocal fileprivate static var current: Kept?

  /// Waits until the stores of the test have written what they log, unless a test blocks the log.
  static func waitForLogs() {
    let (stores, end) = (current?.stores.withLock { $0 } ?? [], Date.now + 1)
    while stores.contains(where: \.isLogging), Date.now < end { Thread.sleep(forTimeInterval: 0.0005) }
  }

  /// True: each test of a suite, and each of its cases, has its own stores.
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable () async throws -> Void
  ) async throws {
    let kept = Kept()
    defer { for store in kept.stores.withLock({ $0 }) { store.stop() } }
    try await Self.$current.withValue(kept, operation: function)
  }
}

extension Trait where Self == TestStores {
  /// Ends the stores of each test with the test.
  static var endsStores: Self { TestStores() }
}

extension RedisStore {
  /// The store itself, registered to end with the current test.
  var endingWithTest: RedisStore {
    guard let kept = TestStores.current else {
      preconditionFailure("Give the suite the trait .endsStores, so that its stores end with their tests.")
    }
    kept.stores.withLock { $0.append(self) }
    return self
  }
}
