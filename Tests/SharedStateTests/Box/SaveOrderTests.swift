import Testing

@testable import SharedState

@Suite(.timeLimit(.minutes(5)))
struct SaveOrderTests {
  @Test func firstRequestDrains() {
    var order = SaveOrder()
    #expect(order.request() == true)
    #expect(order.request() == false)
  }

  @Test func drainerStopsWhenNobodyAskedForMore() {
    var order = SaveOrder()
    _ = order.request()
    #expect(order.begin() == 1)
    #expect(order.finishRound() == false)
    #expect(order.request() == true)
    #expect(order.begin() == 2)
  }

  @Test func requestDuringARoundIsAnotherRound() {
    var order = SaveOrder()
    _ = order.request()
    _ = order.begin()
    #expect(order.request() == false)
    #expect(order.request() == false)
    #expect(order.finishRound() == true)
    #expect(order.begin() == 2)
    #expect(order.finishRound() == false)
  }

  @Test func requestsBeforeTheRoundBeginsAreServedByIt() {
    var order = SaveOrder()
    _ = order.request()
    _ = order.request()
    _ = order.begin()
    #expect(order.finishRound() == false)
  }

  @Test func onlyNewerOutcomesCount() {
    var order = SaveOrder()
    #expect(order.isNewestOutcome(2) == true)
    #expect(order.isNewestOutcome(1) == false)
    #expect(order.isNewestOutcome(2) == false)
    #expect(order.isNewestOutcome(3) == true)
  }
}
