import Foundation
import SharedStateDependencies
import SharedStateTesting
import Testing

/// Calendar, locale and time zone.
@Suite("Calendar, locale and time zone", .timeLimit(.minutes(5)))
struct RegionTests {
  @Dependency(\.calendar) var calendar
  @Dependency(\.locale) var locale
  @Dependency(\.timeZone) var timeZone

  @Test(
    "Overrides of the calendar, locale and time zone are in force",
    .dependency(\.calendar, Calendar(identifier: .buddhist)),
    .dependency(\.calendar.firstWeekday, 3),
    .dependency(\.locale, Locale(identifier: "de_DE")),
    .dependency(\.timeZone, .gmt)
  )
  func overridesCount() {
    #expect(calendar.identifier == .buddhist)
    #expect(calendar.firstWeekday == 3)
    #expect(locale.identifier == "de_DE")
    #expect(timeZone == .gmt)
  }

  @Test("A test that reads the calendar, locale or time zone without an override fails")
  func missingOverride() {
    withKnownIssue {
      _ = calendar
    } matching: {
      "\($0)".contains("CalendarDependency has no test value")
    }
    withKnownIssue {
      _ = locale
    } matching: {
      "\($0)".contains("LocaleDependency has no test value")
    }
    withKnownIssue {
      _ = timeZone
    } matching: {
      "\($0)".contains("TimeZoneDependency has no test value")
    }
  }

  @Test("The live calendar, locale and time zone are those of the user")
  func liveRegion() {
    withDependencies {
      $0 = .live
    } operation: {
      #expect(calendar.identifier == Calendar.current.identifier)
      #expect(locale.identifier == Locale.current.identifier)
      #expect(timeZone.identifier == TimeZone.current.identifier)
    }
  }
}
