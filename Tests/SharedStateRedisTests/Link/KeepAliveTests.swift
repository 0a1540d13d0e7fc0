import Foundation
import Testing

@testable import SharedStateRedis

@Suite("The keep-alive", .timeLimit(.minutes(5)))
struct KeepAliveTests {
  private let start = Instant.now

  /// A keep-alive that has inferred a limit from two connections that were closed after this idle time.
  private func learned(_ idle: Duration) -> KeepAlive {
    var keepAlive = KeepAlive(interval: .seconds(10))
    for _ in 0..<2 { _ = keepAlive.closed(afterIdle: idle, now: start) }
    return keepAlive
  }

  @Test("The keep-alive infers a limit from two connections that were closed after similar idle times")
  func learns() {
    var keepAlive = KeepAlive(interval: .seconds(10))
    let first = keepAlive.closed(afterIdle: .seconds(3), now: start)
    #expect(!first)
    #expect(keepAlive.interval == .seconds(10))
    let second = keepAlive.closed(afterIdle: .milliseconds(3_400), now: start)
    #expect(second)
    #expect(keepAlive.interval == .milliseconds(1_500))
  }

  @Test("The keep-alive infers nothing from connections that end for other reasons")
  func ignores() {
    var keepAlive = KeepAlive(interval: .seconds(10))
    for idle in [Duration.seconds(1), .seconds(9), .seconds(2), .milliseconds(1), .milliseconds(2), .seconds(30)] {
      let hasLearned = keepAlive.closed(afterIdle: idle, now: start)
      #expect(!hasLearned)
    }
    for run in 0..<5 {
      keepAlive.connected(to: "run \(run)")
      let hasLearned = keepAlive.closed(afterIdle: .seconds(5), now: start)
      #expect(!hasLearned)
    }
    #expect(keepAlive.interval == .seconds(10))
  }

  @Test("Bounded: asks at most twice a second")
  func bound() {
    var keepAlive = KeepAlive(interval: .seconds(10))
    for _ in 0..<5 { _ = keepAlive.closed(afterIdle: .milliseconds(600), now: start) }
    #expect(keepAlive.interval == .milliseconds(500))
  }

  @Test("A wrong inference is abandoned within two minutes")
  func contradicted() {
    var keepAlive = learned(.milliseconds(600))
    var (now, intervals) = (start, [Duration]())
    while keepAlive.interval < .seconds(10), now < start + .seconds(120) {
      now = now + keepAlive.interval
      if keepAlive.answered(afterIdle: keepAlive.interval, now: now) { intervals.append(keepAlive.interval) }
    }
    #expect(intervals == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(10)])
    // Nothing is left of it once a connection has been silent for the whole interval.
    _ = keepAlive.answered(afterIdle: .seconds(10), now: now + .seconds(10))
    #expect(keepAlive == KeepAlive(interval: .seconds(10)))
  }

  @Test("A real idle limit is tested less and less often, down to once a day")
  func confirmed() {
    let limit = Duration.seconds(3)
    var keepAlive = learned(limit)
    var (now, trials) = (start, [Instant]())
    while now < start + .seconds(4 * 86_400) {
      let interval = keepAlive.interval
      now = now + min(interval, limit)
      if interval > limit {
        let isNews = keepAlive.closed(afterIdle: limit, now: now)
        #expect(!isNews)
        #expect(keepAlive.interval <= limit)
        trials.append(now)
      } else {
        _ = keepAlive.answered(afterIdle: interval, now: now)
      }
    }
    #expect(trials.count == 9)
    let pauses = zip(trials, trials.dropFirst()).map { $1 - $0 }
    #expect(pauses == pauses.sorted() && pauses[0] >= .seconds(240) && pauses[7] >= .seconds(86_400))
  }

  @Test("A connection that closes after a much shorter idle time does not end the trial")
  func otherEnd() {
    var keepAlive = learned(.seconds(4))
    let isTrying = keepAlive.answered(afterIdle: .seconds(2), now: start + .seconds(61))
    #expect(isTrying)
    #expect(keepAlive.interval == .seconds(4))
    _ = keepAlive.closed(afterIdle: .seconds(1), now: start + .seconds(62))
    #expect(keepAlive.interval == .seconds(4))
    _ = keepAlive.closed(afterIdle: .seconds(3), now: start + .seconds(65))
    #expect(keepAlive.interval == .seconds(2))
  }

  // MARK: The link

  /// A link whose writer's connection was closed twice after half a second, by restarts of the server or by something
  /// else.
  private func link(closedTwiceBy runIDs: [String], at now: inout Instant) -> LinkState {
    var link = LinkState.make()
    link.start()
    for (index, runID) in (runIDs + [runIDs[runIDs.count - 1]]).enumerated() {
      link.connected(.both(ServerFacts(runID: runID)), epoch: link.session.epoch, now: now)
      guard index < runIDs.count else { break }
      now = now + .milliseconds(600)
      link.failed(epoch: link.session.epoch, error: .lost, now: now)
      now = now + .seconds(60)
      _ = link.instruction(now: now)
    }
    return link
  }

  @Test("Two restarts of the server are not mistaken for an idle limit")
  func restarts() {
    var now = start
    let link = link(closedTwiceBy: ["1", "2"], at: &now)
    #expect(link.keepAlive.interval == .seconds(10))
  }

  @Test("Open connections are pinged less often once an inference is contradicted")
  func lengthens() {
    var now = start
    var link = link(closedTwiceBy: ["1", "1"], at: &now)
    #expect(link.keepAlive.interval == .milliseconds(500))
    let beginning = now
    while link.keepAlive.interval < .seconds(10), now < beginning + .seconds(120) {
      now = now + link.keepAlive.interval
      #expect(link.online?.exchanges[.writer].needsPing(now: now) == true)
      link.arrived([], hasHeard: true, on: .writer, epoch: link.session.epoch, now: now)
      let before = now + link.keepAlive.interval + .milliseconds(-1)
      #expect(link.online?.exchanges[.writer].needsPing(now: before) == false)
    }
    #expect(link.keepAlive.interval == .seconds(10))
  }
}
