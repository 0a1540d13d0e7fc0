@testable import SharedStateRedis
import Testing

@Suite("A log budget", .timeLimit(.minutes(5)))
struct LogBudgetTests {
  @Test("Bounded: names the first hundred of a kind within a minute")
  func hundred() {
    var budget = LogBudget()
    let start = Instant.now
    var verdicts = (0..<150).map { budget.spend(on: "restored", now: start + .milliseconds($0)) }
    #expect(verdicts[..<99].allSatisfy { $0 == .log })
    #expect(verdicts[99] == .logAsTheLast)
    #expect(verdicts[100...].allSatisfy { $0 == .keepToDebug })
    #expect(budget.spend(on: "adopted", now: start) == .log)
    verdicts = [59, 60, 61].map { budget.spend(on: "restored", now: start + .seconds($0)) }
    #expect(verdicts == [.keepToDebug, .log, .log])
  }
}
