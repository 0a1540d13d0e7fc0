import Testing

@testable import SharedStateRedis

@Suite("Measurements", .timeLimit(.minutes(1)))
struct MeasurementsTests {
  @Test("A report is due only after measurements begin, and includes what was counted before")
  func late() {
    var measurements = Measurements()
    measurements.committed(after: .seconds(1))
    measurements.becamePending()
    measurements.notePending()
    #expect(!measurements.isDue)
    measurements.begin()
    #expect(measurements.isDue)
    let report = measurements.take(isStale: false)
    #expect(report.commits == 1)
    #expect(report.pendingValues == 1)
    // Nobody kept the time.
    #expect(report.commitTimes.isEmpty)
  }

  @Test("Only one report is published at a time, and the next one covers everything since")
  func oneAtATime() {
    var measurements = Measurements()
    measurements.begin()
    _ = measurements.take(isStale: true)
    measurements.committed(after: .seconds(2))
    measurements.conflicted()
    #expect(!measurements.isDue)
    measurements.published()
    #expect(measurements.isDue)
    let report = measurements.take(isStale: false)
    #expect((report.commits, report.conflicts, report.retries) == (1, 1, 0))
    #expect(report.commitTimes == [.seconds(2)])
    measurements.published()
    #expect(!measurements.isDue)
    measurements.merged()
    #expect(measurements.take(isStale: false).commits == 0)
  }

  @Test("A change that is acknowledged before pending values are noted causes no report")
  func pending() {
    var measurements = Measurements()
    measurements.begin()
    _ = measurements.take(isStale: false)
    measurements.published()
    measurements.becamePending()
    #expect(!measurements.isDue)
    measurements.settled()
    measurements.notePending()
    #expect(!measurements.isDue)
    measurements.becamePending()
    measurements.notePending()
    #expect(measurements.isDue)
    #expect(measurements.take(isStale: false).pendingValues == 1)
    measurements.published()
    measurements.notePending()
    #expect(!measurements.isDue)
  }

  @Test("Bounded: a report that is not published for long keeps at most a thousand times, and counts everything")
  func bounded() {
    var measurements = Measurements()
    measurements.begin()
    for number in 1...5_000 as ClosedRange<UInt64> {
      measurements.committed(after: .milliseconds(1))
      measurements.delivered(Revision(number))
    }
    let report = measurements.take(isStale: false)
    #expect(report.commits == 5_000)
    #expect(report.commitTimes.count == Measurements.maximumTimes)
    #expect(report.delivered.count == Measurements.maximumTimes)
  }
}
