import SharedState
import SharedStateTesting
import Testing

@Suite("Assertions of changes", .timeLimit(.minutes(5)))
struct AssertionTests {
  @Test("A correct assertion passes", .exhaustiveChanges)
  func passes() {
    let count = Shared(value: 0)
    count.withLock { $0 = 1 }
    count.assert { $0 = 1 }
  }

  private struct Basket: Equatable {
    var pears = 0
    var plums = 0
  }

  @Test("A wrong assertion fails the test", .exhaustiveChanges)
  func wrongAssertion() {
    let basket = Shared(value: Basket())
    basket.withLock { $0.pears = 1 }
    basket.assert { $0.pears = 2 }
  }

  @Test("A change without an assertion fails an exhaustive test", .exhaustiveChanges)
  func unassertedChange() {
    let count = Shared(value: 0)
    count.withLock { $0 = 1 }
  }

  @Test("A tracked change without an assertion fails the test")
  func unassertedTrackedChange() {
    let count = Shared(value: 0)
    SharedChangeTracker().track { count.withLock { $0 = 1 } }
  }
}
