import Synchronization
import Testing

@testable import SharedStateRedis

@Suite("Jobs behind slow code", .timeLimit(.minutes(5)))
struct SlowOwnerTests {
  @Test("A full queue of log lines drops decisions first, and then the newest line")
  func decisionsFirst() {
    let decision = Job.decided(name: "count", .init(.commit))
    let event = Job.losesAgain(name: "count")
    var owner = SlowOwner()
    for _ in 1..<SlowOwner.maximumLogLines { #expect(owner.append(event, of: .log) == nil) }
    #expect(owner.append(decision, of: .log) == nil)
    #expect(owner.append(decision, of: .log)?.isDecision == true)
    #expect(owner.jobs.filter(\.isDecision).count == 1)

    #expect(owner.append(event, of: .log)?.isDecision == true)
    #expect(owner.jobs.filter(\.isDecision).isEmpty)
    #expect(owner.append(event, of: .log)?.isDecision == false)
    #expect(owner.jobs.count == SlowOwner.maximumLogLines)
  }

  @Test("A link is live without a value behind slow user code, but not without a postponed one")
  func keptBack() throws {
    let start = Instant.now
    var link = LinkState.make()
    let id = try link.join("count")
    link.connect(at: start)
    link.answerOnce(at: start, stored: .document(7, "1"))
    let show = try #require(link.takeEffects().first { if case .show = $0 { true } else { false } })
    #expect(!link.isLive)

    func isLive(behind slow: SlowOwner, served: Job.Owner? = nil) -> Bool {
      var guarded = Link.Guarded(state: link)
      (guarded.slow[.value(id)], guarded.served) = (slow, served)
      var remaining = RemainingEffects(jobs: [show])
      guarded.setAside(&remaining)
      #expect(remaining.jobs.isEmpty && guarded.slow[.value(id)]?.jobs.count == 1)
      return guarded.state.isLive
    }

    #expect(isLive(behind: SlowOwner(hasThread: true)))
    #expect(!isLive(behind: SlowOwner()))
    #expect(!isLive(behind: SlowOwner(hasThread: true), served: .value(id)))
  }

  @Test("A thread behind slow code takes the jobs of its owner, and leaves all others to the link's thread")
  func leavesOthers() throws {
    let start = Instant.now
    var link = LinkState.make()
    let (id, other) = (try link.join("count"), try link.join("other"))
    link.connect(at: start)
    _ = link.takeEffects()
    for id in [other, id] { link.publish(id, .loading(false)) }
    var guarded = Link.Guarded(state: link)
    guarded.hasThread = true
    guarded.slow[.value(id)] = SlowOwner(hasThread: true)
    guarded.slow[.log] = SlowOwner(
      hasThread: true,
      jobs: Array(repeating: .losesAgain(name: "count"), count: SlowOwner.maximumLogLines)
    )
    var remaining = RemainingEffects()

    #expect(guarded.nextJob(ofLate: .log, &remaining)?.owner == .log)
    #expect(remaining.dropped.isEmpty && remaining.wakesThread)
    #expect(guarded.nextJob(ofLate: .value(id), &remaining)?.owner == .value(id))
    #expect(guarded.nextJob(ofLate: .value(id), &remaining) == nil)
    #expect(guarded.state.takeEffects().map(\.owner) == [.value(other)])
  }

  @Test("Without a thread of the link, a thread behind slow code takes all jobs")
  func takesAll() throws {
    var link = LinkState.make()
    let other = try link.join("other")
    _ = link.takeEffects()
    link.publish(other, .loading(false))
    var guarded = Link.Guarded(state: link)
    guarded.slow[.log] = SlowOwner(hasThread: true)
    var remaining = RemainingEffects()
    #expect(guarded.nextJob(ofLate: .log, &remaining)?.owner == .value(other))
    #expect(!guarded.state.hasEffects)
  }

  @Test("A caller performs its effects only if none was left for the link's thread before")
  func callersLeaveEffects() {
    let store = RedisStore.inProcess()
    defer { store.stop() }
    let link = store.link
    func left() -> [String] {
      link.guarded.withLock { guarded in
        guarded.state.takeEffects().compactMap { if case .losesAgain(let name) = $0 { name } else { nil } }
      }
    }
    link.guarded.withLock { $0.hasThread = true }
    link.update { $0.state.emit(.losesAgain(name: "own")) }
    #expect(left() == [])

    link.guarded.withLock { $0.state.emit(.losesAgain(name: "left")) }
    link.update { $0.state.emit(.losesAgain(name: "own")) }
    #expect(left() == ["left", "own"])

    link.guarded.withLock { guarded in
      guarded.hasThread = false
      guarded.state.emit(.losesAgain(name: "left"))
    }
    link.update { $0.state.emit(.losesAgain(name: "own")) }
    #expect(left() == [])
  }
}
