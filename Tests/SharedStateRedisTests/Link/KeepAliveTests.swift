import Foundation
import SharedStateRedis
import Testing

@Suite("The keep-alive", .timeLimit(.minutes(5)))
struct KeepAliveTests {
  @Test("learns from two connections that were closed after the same idle time")
  func learns() {
    var keepAlive = KeepAlive(interval: .seconds(10))
    let first = keepAlive.closed(afterIdle: .seconds(3))
    #expect(!first)
    #expect(keepAlive.interval == .seconds(10))
    let second = keepAlive.closed(afterIdle: .milliseconds(3_400))
    #expect(second)
    #expect(keepAlive.interval == .milliseconds(1_500))
  }

  @Test("learns nothing from connections that end for other reasons")
  func ignores() {
    var keepAlive = KeepAlive(interval: .seconds(10))
    for idle in [Duration.seconds(1), .seconds(9), .seconds(2), .milliseconds(1), .milliseconds(2), .seconds(30)] {
      let hasLearned = keepAlive.closed(afterIdle: idle)
      #expect(!hasLearned)
    }
    #expect(keepAlive.interval == .seconds(10))
  }

  @Test("Bounded: asks at most twice a second")
  func bound() {
    var keepAlive = KeepAlive(interval: .seconds(10))
    for _ in 0..<5 { _ = keepAlive.closed(afterIdle: .milliseconds(600)) }
    #expect(keepAlive.interval == .milliseconds(500))
  }
}
