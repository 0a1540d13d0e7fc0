import SharedStateTesting
import Testing

@testable import SharedState

@Suite("The tasks that wait for deliveries", .timeLimit(.minutes(5)))
struct DeliveryWaitersTests {
  private let start = ContinuousClock.now

  @Test("A task waits for the end of a round that begins after it has come")
  func nextRound() {
    var waiters = DeliveryWaiters()
    let (first, second) = (ChangeWaiter(), ChangeWaiter())
    waiters.expectRound(now: start)
    #expect(waiters.append(first, now: start) == true)
    waiters.beginRound(now: start)
    #expect(waiters.append(second, now: start) == true)
    #expect(waiters.endRound(now: start).map(ObjectIdentifier.init) == [ObjectIdentifier(first)])
    waiters.beginRound(now: start)
    #expect(waiters.endRound(now: start).map(ObjectIdentifier.init) == [ObjectIdentifier(second)])
    #expect(waiters.endRound(now: start).isEmpty)
  }

  @Test("No task waits any longer once a round has lasted, or been waited for, for a second", arguments: [true, false])
  func blockedRound(hasBegun: Bool) {
    var waiters = DeliveryWaiters()
    waiters.expectRound(now: start)
    #expect(waiters.append(ChangeWaiter(), now: start) == true)
    let begin = start + .milliseconds(hasBegun ? 500 : 0)
    if hasBegun { waiters.beginRound(now: begin) }
    #expect(waiters.append(ChangeWaiter(), now: begin) == true)
    #expect(waiters.look(now: begin + .milliseconds(999)).isEmpty)
    #expect(waiters.look(now: begin + .seconds(1)).count == 2)
    #expect(waiters.look(now: begin + .seconds(2)).isEmpty)
    // Nor does a task that comes later.
    #expect(waiters.append(ChangeWaiter(), now: begin + .seconds(1)) == false)
    // The end of the round shows that the observers are no longer blocked.
    _ = waiters.endRound(now: begin + .seconds(5))
    #expect(waiters.append(ChangeWaiter(), now: begin + .seconds(5)) == true)
  }

  @Test("The second begins with the first task if nobody has noted when the round was asked for")
  func unnotedRound() {
    var waiters = DeliveryWaiters()
    #expect(waiters.append(ChangeWaiter(), now: start) == true)
    #expect(waiters.append(ChangeWaiter(), now: start + .milliseconds(999)) == true)
    #expect(waiters.append(ChangeWaiter(), now: start + .seconds(1)) == false)
    #expect(waiters.look(now: start + .seconds(1)).count == 2)
  }

  @Test("One look at the time is scheduled while tasks wait")
  func watch() {
    var waiters = DeliveryWaiters()
    #expect(waiters.watch(now: start) == nil)
    waiters.expectRound(now: start)
    _ = waiters.append(ChangeWaiter(), now: start)
    #expect(waiters.watch(now: start + .milliseconds(400)) == .milliseconds(600))
    #expect(waiters.watch(now: start + .milliseconds(400)) == nil)
    #expect(waiters.look(now: start + .milliseconds(500)).isEmpty)
    #expect(waiters.watch(now: start + .milliseconds(500)) == .milliseconds(500))
    #expect(waiters.look(now: start + .seconds(1)).count == 1)
    #expect(waiters.watch(now: start + .seconds(1)) == nil)
  }
}
