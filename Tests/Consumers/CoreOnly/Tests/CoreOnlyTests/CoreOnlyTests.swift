import SharedState
import Testing

/// Nothing here can be told of a failure: an assertion has to say so, and not to pass.
@Suite(.timeLimit(.minutes(5))) struct CoreOnlyTests {
  @Test func assertion() {
    let count = Shared(value: 0)
    SharedChangeTracker().track {
      count.withLock { $0 = 1 }
      count.assert { $0 = 2 }
    }
  }
}
