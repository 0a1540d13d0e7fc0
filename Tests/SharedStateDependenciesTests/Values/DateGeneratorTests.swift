import Foundation
import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("DateGenerator", .timeLimit(.minutes(5)))
struct DateGeneratorTests {
  @Dependency(\.date) var date
  @Dependency(\.date.now) var now

  private static let day = Date(timeIntervalSince1970: 86_400)

  @Test("A generator whose now is overridden returns that date without an issue", .dependency(\.date.now, day))
  func overriddenNow() {
    #expect(date() == Self.day)
    #expect(date.now == Self.day)
    #expect(now == Self.day)
  }

  @Test("A constant generator always returns the same date", .dependencies { $0.date = .constant(day) })
  func constantDate() {
    #expect([date(), date(), now] == [Self.day, Self.day, Self.day])
  }

  @Test("A generator calls its closure for each date")
  func closureCalls() {
    let uuid = UUIDGenerator.incrementing
    withDependencies {
      $0.date = DateGenerator { Date(timeIntervalSince1970: uuid() == UUID(0) ? 1 : 2) }
    } operation: {
      #expect(date().timeIntervalSince1970 == 1)
      #expect(now.timeIntervalSince1970 == 2)
    }
  }

  @Test("A test that reads the date without an override fails")
  func missingOverride() {
    withKnownIssue {
      #expect(date() > Self.day)
    } matching: {
      "\($0)".contains("DateGeneratorKey has no test value")
    }
  }

  @Test("Using the date after an override has ended reports an issue")
  func useAfterOverride() {
    withDependencies {
      $0.date.now = Self.day
    } operation: {
      #expect(now == Self.day)
    }
    withKnownIssue {
      #expect(now > Self.day)
    } matching: {
      "\($0)".contains("DateGeneratorKey has no test value")
    }
  }

  @Test("A generator whose now is prepared returns that date")
  func preparedNowIsConstant() {
    prepareDependencies { $0.date.now = Self.day }
    #expect(date() == Self.day)
  }

  @Test("The live date is not in the past")
  func liveDate() {
    let before = Date()
    withDependencies {
      $0 = .live
    } operation: {
      let now = date()
      #expect(before <= now && now <= Date())
    }
  }
}
