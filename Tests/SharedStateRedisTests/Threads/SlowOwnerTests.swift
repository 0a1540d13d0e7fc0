import Testing

@testable import SharedStateRedis

@Suite("Jobs behind slow code", .timeLimit(.minutes(5)))
struct SlowOwnerTests {
  @Test("a full queue of log lines drops decisions first, and then the newest line")
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
}
