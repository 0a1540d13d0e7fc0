@testable import SharedStateRedis
import Testing

@Suite("An exchange", .timeLimit(.minutes(5)))
struct ExchangeTests {
  private let start = Instant.now

  private func exchange() -> Exchange<String> {
    Exchange(openedAt: start, timeout: .seconds(5), keepAlive: .seconds(10))
  }

  @Test("An exchange returns the request of an answer exactly once")
  func answers() {
    var exchange = exchange()
    let (first, second) = (exchange.register("a", now: start), exchange.register("b", now: start))
    #expect(exchange.answered(second) == "b")
    #expect(exchange.answered(second) == nil)
    #expect(exchange.answered(first) == "a")
    #expect(exchange.count == 0)
  }

  @Test("An exchange is overdue if its oldest unanswered request is, regardless of later answers")
  func overdue() {
    var exchange = exchange()
    _ = exchange.register("a", now: start)
    let second = exchange.register("b", now: start + .seconds(1))
    _ = exchange.answered(second)
    #expect(exchange.nextDeadline == start + .seconds(5))
    #expect(!exchange.isOverdue(now: start + .seconds(4)))
    #expect(exchange.isOverdue(now: start + .seconds(5)))
  }

  @Test("An exchange is not overdue while the other side works through earlier requests")
  func busy() {
    var exchange = exchange()
    _ = exchange.register("a", now: start)
    _ = exchange.register("b", now: start)
    exchange.checkedForInput(hasHeard: true, now: start + .seconds(4))
    _ = exchange.answered(1)
    #expect(!exchange.isOverdue(now: start + .seconds(5)))
    #expect(exchange.nextDeadline == start + .seconds(9))
    exchange.checkedForInput(hasHeard: false, now: start + .seconds(9))
    #expect(exchange.isOverdue(now: start + .seconds(9)))
  }

  @Test("An exchange is not overdue until a busy thread has looked for answers")
  func busyHere() {
    var exchange = exchange()
    _ = exchange.register("a", now: start)
    exchange.checkedForInput(hasHeard: false, now: start + .seconds(1))
    #expect(!exchange.isOverdue(now: start + .seconds(60)))
    exchange.checkedForInput(hasHeard: false, now: start + .seconds(60))
    #expect(exchange.isOverdue(now: start + .seconds(60)))
  }

  @Test("An exchange needs a keep-alive request after a long silence if no answer is awaited")
  func keepAlive() {
    var exchange = exchange()
    #expect(!exchange.needsPing(now: start + .seconds(9)))
    #expect(exchange.needsPing(now: start + .seconds(10)))
    let ping = exchange.register("ping", now: start + .seconds(10))
    #expect(!exchange.needsPing(now: start + .seconds(11)))
    #expect(exchange.isOverdue(now: start + .seconds(15)))
    _ = exchange.answered(ping)
    exchange.checkedForInput(hasHeard: true, now: start + .seconds(12))
    #expect(exchange.nextDeadline == start + .seconds(22))
  }

  @Test("An exchange matches 50,000 answers while its oldest request is unanswered")
  func manyRequests() {
    var exchange = exchange()
    let oldest = exchange.register("oldest", now: start)
    for number in 0..<50_000 {
      let id = exchange.register("\(number)", now: start + .seconds(1))
      #expect(exchange.answered(id) == "\(number)")
    }
    #expect(exchange.answered(oldest) == "oldest")
    #expect(exchange.count == 0)
    #expect(!exchange.isOverdue(now: start + .seconds(100)))
  }
}
