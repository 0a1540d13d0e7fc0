import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts of a link that its server refuses, and of deadlines that callers choose.
@Suite("Waiting for a link", .timeLimit(.minutes(5)))
struct LinkRefusalTests {
  private let start = Instant.now

  @Test("A server that refuses the service fails all waiting and later callers immediately")
  func refusal() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    link.changed(id)
    let before = [
      try link.load(id, now: start),
      try link.save(id, stamp: 1, now: start),
      try link.update(id, now: start),
      try link.reset(id, stamp: 1, now: start),
      try link.read(KeyNames(namespace: "", name: "other", database: 0), maximumBytes: 10, now: start),
    ]
    let flushed = link.flush(until: start + .seconds(60))
    _ = link.takeEffects()
    link.failed(epoch: 1, error: .authenticationFailed, now: start)
    #expect(link.takeResumed() == (before + flushed).map { .init([$0], .authenticationFailed) })
    let later = [
      try link.load(id, now: start), try link.save(id, stamp: 1, now: start), try link.update(id, now: start),
    ]
    #expect(link.takeResumed() == later.map { .init([$0], .authenticationFailed) })
    let flushedLater = link.flush(until: start + .seconds(60))
    #expect(link.takeResumed() == flushedLater.map { .init([$0], .authenticationFailed) })
    // The change and the deletion are still pending.
    #expect(link.pendingChanges == 1)
  }

  @Test("A caller that asks during the next attempt waits for that attempt to end")
  func nextAttempt() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    link.failed(epoch: 1, error: .authenticationFailed, now: start)
    let later = start + .seconds(10)
    #expect(link.instruction(now: later) == .connect(epoch: 2))
    let load = try link.load(id, now: later)
    #expect(link.takeResumed() == [])
    link.failed(epoch: 2, error: .permissionDenied(operation: "CLIENT"), now: later)
    #expect(link.takeResumed() == [.init([load], .permissionDenied(operation: "CLIENT"))])
  }

  @Test("Temporary errors and errors of an open connection do not fail waiting callers immediately")
  func noRefusal() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    let load = try link.load(id, now: start)
    _ = link.takeEffects()
    link.failed(epoch: 1, error: .unreachable(reason: "nobody"), now: start)
    #expect(link.takeResumed() == [])
    let later = start + .seconds(1)
    #expect(link.instruction(now: later) == .connect(epoch: 2))
    link.connect(at: later)
    link.failed(epoch: 2, error: .protocolViolation(reason: "a strange answer"), now: later)
    #expect(link.takeResumed() == [])
    _ = link.instruction(now: start + .seconds(10))
    #expect(link.takeResumed() == [.init([load], .protocolViolation(reason: "a strange answer"))])
  }

  @Test("ExactlyOnceUpdates: an update that was sent may still be answered, and is not reported as refused")
  func sentUpdate() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    let update = try link.update(id, now: start)
    link.send(id, "1", at: start)
    link.failed(epoch: 1, error: .disconnected(reason: "cut"), now: start)
    let later = start + .seconds(1)
    #expect(link.instruction(now: later) == .connect(epoch: 2))
    _ = link.takeEffects()
    link.failed(epoch: 2, error: .authenticationFailed, now: later)
    #expect(link.takeResumed() == [])
    _ = link.instruction(now: start + .seconds(10))
    #expect(link.takeResumed() == [.init([update], .outcomeUnknown(name: "count"))])
  }

  @Test("Each call has its own deadline, earlier or later than the default")
  func ownDeadlines() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    let long = try link.load(id, within: .seconds(30), now: start)
    let usual = try link.load(id, now: start)
    let short = try link.save(id, within: .milliseconds(1), now: start)
    link.failed(epoch: 1, error: .unreachable(reason: "nobody"), now: start)
    _ = link.takeEffects()
    for (waiter, milliseconds) in [(short, 1), (usual, 10_000), (long, 30_000)] {
      link.expireWaiters(now: start + .milliseconds(milliseconds) + .nanoseconds(-1))
      #expect(link.takeResumed() == [])
      #expect(link.waiters.earliestDeadline == start + .milliseconds(milliseconds))
      link.expireWaiters(now: start + .milliseconds(milliseconds))
      #expect(link.takeResumed() == [.init([waiter], .unreachable(reason: "nobody"))])
    }
    #expect(link.waiters.earliestDeadline == nil)
  }

  @Test("Bounded: deadlines of finished calls are not kept because of one that waits long")
  func forgottenDeadlines() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    _ = try link.load(id, within: .seconds(60), now: start)
    let usual = try link.load(id, now: start)
    for _ in 0..<10_000 {
      link.forget(try link.load(id, within: .seconds(3_600), now: start))
      link.forget(try link.load(id, now: start))
    }
    #expect(link.waiters.countOfDeadlines < 150)
    #expect(link.waiters.earliestDeadline == start + .seconds(10))
    link.forget(usual)
    link.expireWaiters(now: start)
    #expect(link.waiters.earliestDeadline == start + .seconds(60))
  }
}
