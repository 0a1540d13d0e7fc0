import SharedState
import Testing

/// Without `SharedStateTesting` nothing can record a failure, so an assertion has to say so instead of passing.
@Suite(.timeLimit(.minutes(5))) struct CoreOnlyTests {
  @Test func assertion() {
    let count = Shared(value: 0)
    SharedChangeTracker().track {
      count.withLock { $0 = 1 }
      count.assert { $0 = 2 }
    }
  }
}
