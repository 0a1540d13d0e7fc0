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

    #expect(isLive(behind: SlowOwner(threads: 1)))
    #expect(!isLive(behind: SlowOwner()))
    #expect(!isLive(behind: SlowOwner(threads: 1), served: .value(id)))
  }
}
