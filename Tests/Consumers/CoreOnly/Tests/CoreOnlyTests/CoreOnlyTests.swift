import SharedState
import Testing

/// Without `SharedStateTesting` nothing tells all tests apart, which is said once. Nothing can record a failure, either, so
/// an assertion has to say so instead of passing.
@Suite("A target without SharedStateTesting", .timeLimit(.minutes(5)))
struct CoreOnlyTests {
  @Test("A wrong assertion does not pass without SharedStateTesting")
  func assertion() {
    for name in ["visitors", "orders"] { _ = Shared(wrappedValue: 0, .inMemory(name)) }
    let count = Shared(value: 0)
    SharedChangeTracker().track {
      count.withLock { $0 = 1 }
      count.assert { $0 = 2 }
    }
  }
}
