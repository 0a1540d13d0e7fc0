import Testing

@testable import SharedState

@Suite("SaveOrder", .timeLimit(.minutes(5)))
struct SaveOrderTests {
  @Test("Only the first request makes its caller the drainer")
  func firstRequestDrains() {
    var order = SaveOrder()
    #expect(order.request() == true)
    #expect(order.request() == false)
  }

  @Test("A drainer without further requests stops, and the next request starts another one")
  func stoppedDrainer() {
    var order = SaveOrder()
    _ = order.request()
    #expect(order.begin() == 1)
    #expect(order.finishRound() == false)
    #expect(order.request() == true)
    #expect(order.begin() == 2)
  }

  @Test("Requests during a round cause exactly one more round")
  func requestsDuringRound() {
    var order = SaveOrder()
    _ = order.request()
    _ = order.begin()
    #expect(order.request() == false)
    #expect(order.request() == false)
    #expect(order.finishRound() == true)
    #expect(order.begin() == 2)
    #expect(order.finishRound() == false)
  }

  @Test("Requests before a round begins are served by that round")
  func requestsBeforeRound() {
    var order = SaveOrder()
    _ = order.request()
    _ = order.request()
    _ = order.begin()
    #expect(order.finishRound() == false)
  }

  @Test("Only an outcome newer than all before it counts")
  func onlyNewerOutcomesCount() {
    var order = SaveOrder()
    #expect(order.isNewestOutcome(2) == true)
    #expect(order.isNewestOutcome(1) == false)
    #expect(order.isNewestOutcome(2) == false)
    #expect(order.isNewestOutcome(3) == true)
  }
}
