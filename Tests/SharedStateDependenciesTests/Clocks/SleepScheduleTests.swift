import Testing

@testable import SharedStateDependencies

@Suite("SleepSchedule", .timeLimit(.minutes(5)))
struct SleepScheduleTests {
  private typealias Instant = OffsetInstant<Duration>
  private var schedule = SleepSchedule<Instant, String>(now: Instant())

  private func second(_ seconds: Int) -> Instant { Instant(offset: .seconds(seconds)) }

  @Test("Sleeps end by deadline, and with equal deadlines in the order in which they began")
  mutating func orderOfEnds() {
    _ = schedule.begin("late", until: second(3))
    _ = schedule.begin("first", until: second(1))
    _ = schedule.begin("second", until: second(1))
    _ = schedule.begin("beyond", until: second(5))
    #expect(schedule.nextDeadline == second(1))
    #expect(schedule.advance(to: second(4)) == "first")
    #expect(schedule.now == second(1))
    #expect(schedule.advance(to: second(4)) == "second")
    #expect(schedule.now == second(1))
    #expect(schedule.advance(to: second(4)) == "late")
    #expect(schedule.now == second(3))
    #expect(schedule.advance(to: second(4)) == nil)
    #expect(schedule.now == second(4))
    #expect(schedule.count == 1)
  }

  @Test("A sleep that begins during an advance ends in its turn")
  mutating func sleepDuringAdvance() {
    _ = schedule.begin("timer", until: second(1))
    _ = schedule.begin("other", until: second(3))
    #expect(schedule.advance(to: second(3)) == "timer")
    _ = schedule.begin("timer again", until: schedule.now.advanced(by: .seconds(1)))
    #expect(schedule.advance(to: second(3)) == "timer again")
    #expect(schedule.now == second(2))
    #expect(schedule.advance(to: second(3)) == "other")
  }

  @Test("A sleep until the past does not begin, but a sleep until the present does")
  mutating func pastAndPresent() {
    #expect(schedule.advance(to: second(2)) == nil)
    #expect(schedule.begin("past", until: second(1)) == nil)
    #expect(schedule.begin("present", until: second(2)) != nil)
    #expect(schedule.advance(to: second(2)) == "present")
    #expect(schedule.advance(to: second(2)) == nil)
  }

  @Test("The time does not go back")
  mutating func backwardAdvance() {
    #expect(schedule.advance(to: second(2)) == nil)
    _ = schedule.begin("present", until: second(2))
    #expect(schedule.advance(to: second(1)) == nil)
    #expect(schedule.now == second(2))
    #expect(schedule.count == 1)
  }

  @Test("A sleep ends only once")
  mutating func sleepEndsOnce() throws {
    let begun = schedule.begin("sleeper", until: second(1))
    let id = try #require(begun)
    #expect(schedule.end(id) == "sleeper")
    #expect(schedule.end(id) == nil)
    #expect(schedule.advance(to: second(1)) == nil)
    let begunLater = schedule.begin("other", until: second(1))
    let other = try #require(begunLater)
    #expect(other != id)
    #expect(schedule.advance(to: second(1)) == "other")
    #expect(schedule.end(other) == nil)
  }

  @Test("endAll ends every sleep by deadline without advancing the time")
  mutating func allEndAtOnce() {
    _ = schedule.begin("late", until: second(2))
    _ = schedule.begin("early", until: second(1))
    #expect(schedule.endAll() == ["early", "late"])
    #expect(schedule.count == 0)
    #expect(schedule.now == second(0))
  }

  @Test("Every beginning and end of a sleep is counted")
  mutating func countedChanges() throws {
    let begun = schedule.begin("a", until: second(1))
    let id = try #require(begun)
    _ = schedule.begin("b", until: second(1))
    #expect(schedule.eventCount == 2)
    _ = schedule.end(id)
    #expect(schedule.eventCount == 3)
    _ = schedule.advance(to: second(1))
    #expect(schedule.eventCount == 4)
    _ = schedule.advance(to: second(2))
    _ = schedule.begin("past", until: second(1))
    #expect(schedule.eventCount == 4)
  }
}
