import SharedState
import SharedStateTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct AssertionTests {
  @Test(.exhaustiveChanges) func passes() {
    let count = Shared(value: 0)
    count.withLock { $0 = 1 }
    count.assert { $0 = 1 }
  }

  private struct Basket: Equatable {
    var pears = 0
    var plums = 0
  }

  @Test(.exhaustiveChanges) func failsBecauseItIsWrong() {
    let basket = Shared(value: Basket())
    basket.withLock { $0.pears = 1 }
    basket.assert { $0.pears = 2 }
  }

  @Test(.exhaustiveChanges) func failsBecauseItIsIncomplete() {
    let count = Shared(value: 0)
    count.withLock { $0 = 1 }
  }

  @Test func failsBecauseATrackerIsNotAsserted() {
    let count = Shared(value: 0)
    SharedChangeTracker().track { count.withLock { $0 = 1 } }
  }
}
