import SharedState
import Testing

@testable import SharedStateRedis

@Suite("What a link has to read of one value", .timeLimit(.minutes(1)))
struct ReadStateTests {
  private let start = Instant.now

  @Test("Converges: comparing the document alone, again and again, does not postpone anti-entropy")
  func comparisons() {
    var reading = ReadState(antiEntropyPart: 1)
    _ = reading.begin(isCommitUnderWay: false, now: start)
    for second in 1...59 {
      _ = reading.want(.document, .ownCheck)
      _ = reading.leave(.ownCheck, isAwaited: false)
      #expect(reading.isComparable)
      reading.beginComparison(isCommitUnderWay: false, now: start + .seconds(second))
      #expect(reading.ownCheckAt == start + .seconds(second + 1))
    }
    #expect(reading.overdueAt(.seconds(60)) == start + .seconds(60))
  }

  @Test(
    "Converges: a value that something else wants to read as well is not only compared",
    arguments: [Reads.Priority.comparison, .check],
    [true, false]
  )
  func comparisonAndRead(other: Reads.Priority, comesFirst: Bool) {
    var reading = ReadState(antiEntropyPart: 1)
    for priority in comesFirst ? [other, .ownCheck] : [.ownCheck, other] {
      _ = reading.want(priority == .ownCheck ? .document : .summary, priority)
    }
    let depth = reading.leave(min(other, .ownCheck), isAwaited: false)
    #expect(depth == .document)
    #expect(!reading.isComparable)
  }

  @Test("A value that a caller waits for is not only compared")
  func awaited() {
    var reading = ReadState(antiEntropyPart: 1)
    _ = reading.want(.document, .ownCheck)
    let depth = reading.leave(.ownCheck, isAwaited: true)
    #expect(depth == .document)
    #expect(!reading.isComparable)
  }
}
