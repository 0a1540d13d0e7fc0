import SharedState
import Testing

/// The optimiser keeps the code that shows differences in tests, although nothing refers to it.
@Suite("Differences after optimisation", .timeLimit(.minutes(5)))
struct DifferenceTests {
  private struct Basket: Equatable {
    var pears = 0
    var plums = 0
  }

  @Test("A difference is shown as a tree")
  func differenceTree() {
    let basket = Shared(value: Basket())
    withKnownIssue {
      SharedChangeTracker().track {
        basket.withLock { $0.pears = 1 }
        basket.assert { $0.pears = 2 }
      }
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains("−   pears: 2,\n    +   pears: 1,") }
    }
  }
}
