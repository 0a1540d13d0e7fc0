import Testing

@testable import SharedState

@Suite("SaveThrottle", .timeLimit(.minutes(5)))
struct SaveThrottleTests {
  let start = ContinuousClock.now

  @Test("The first change is written immediately")
  func firstAtOnce() {
    var throttle = SaveThrottle(interval: .seconds(1))
    #expect(throttle.request(at: start, isUrgent: false) == .write)
    #expect(throttle.finish(at: start) == .nothing)
    #expect(throttle.isIdle)
  }

  @Test("Further changes share one write, an interval after the first")
  func sharedWrite() {
    var throttle = SaveThrottle(interval: .seconds(1))
    #expect(throttle.request(at: start, isUrgent: false) == .write)
    #expect(throttle.request(at: start + .milliseconds(1), isUrgent: false) == .nothing)
    #expect(throttle.finish(at: start + .milliseconds(2)) == .wake(at: start + .seconds(1)))
    #expect(throttle.request(at: start + .milliseconds(3), isUrgent: false) == .nothing)
    #expect(throttle.wake(at: start + .seconds(1)) == .write)
    #expect(throttle.finish(at: start + .seconds(1)) == .nothing)
    #expect(throttle.request(at: start + .milliseconds(1500), isUrgent: false) == .wake(at: start + .seconds(2)))
    #expect(!throttle.isIdle)
  }

  @Test("A change after the interval is written immediately")
  func atOnceAfterInterval() {
    var throttle = SaveThrottle(interval: .seconds(1))
    _ = throttle.request(at: start, isUrgent: false)
    _ = throttle.finish(at: start)
    #expect(throttle.request(at: start + .seconds(1), isUrgent: false) == .write)
  }

  @Test("An urgent change does not wait, and the earlier wake-up finds nothing to do")
  func urgent() {
    var throttle = SaveThrottle(interval: .seconds(1))
    _ = throttle.request(at: start, isUrgent: false)
    _ = throttle.finish(at: start)
    #expect(throttle.request(at: start, isUrgent: false) == .wake(at: start + .seconds(1)))
    #expect(throttle.request(at: start, isUrgent: true) == .write)
    #expect(throttle.finish(at: start) == .nothing)
    #expect(throttle.wake(at: start + .seconds(1)) == .nothing)
  }

  @Test("An urgent change during a write is written when that ends")
  func urgentDuringWrite() {
    var throttle = SaveThrottle(interval: .seconds(1))
    _ = throttle.request(at: start, isUrgent: false)
    #expect(throttle.request(at: start, isUrgent: true) == .nothing)
    #expect(throttle.finish(at: start) == .write)
    #expect(throttle.finish(at: start) == .nothing)
  }

  @Test("Writing now writes exactly the pending changes")
  func writeNow() {
    var throttle = SaveThrottle(interval: .seconds(1))
    #expect(throttle.writeNow(at: start) == .nothing)
    _ = throttle.request(at: start, isUrgent: false)
    _ = throttle.finish(at: start)
    _ = throttle.request(at: start, isUrgent: false)
    #expect(throttle.writeNow(at: start) == .write)
  }
}
