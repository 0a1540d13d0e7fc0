public import Foundation

extension DependencyValues {
  /// The calendar of the user, kept up to date. A test that does not override it fails when it uses it.
  public var calendar: Calendar {
    get { self[CalendarDependency.self] }
    set { self[CalendarDependency.self] = newValue }
  }

  private enum CalendarDependency: DependencyKey {
    static var liveValue: Calendar { .autoupdatingCurrent }
  }
}

extension DependencyValues {
  /// The locale of the user, kept up to date. A test that does not override it fails when it uses it.
  public var locale: Locale {
    get { self[LocaleDependency.self] }
    set { self[LocaleDependency.self] = newValue }
  }

  private enum LocaleDependency: DependencyKey {
    static var liveValue: Locale { .autoupdatingCurrent }
  }
}

extension DependencyValues {
  /// The locales that the user prefers, the most preferred one first. A test that does not override them fails when it
  /// uses them.
  public var preferredLocales: [Locale] {
    get { self[PreferredLocalesDependency.self] }
    set { self[PreferredLocalesDependency.self] = newValue }
  }

  private enum PreferredLocalesDependency: DependencyKey {
    static var liveValue: [Locale] { Locale.preferredLanguages.map { Locale(identifier: $0) } }
  }
}

extension DependencyValues {
  /// The time zone of the user, kept up to date. A test that does not override it fails when it uses it.
  public var timeZone: TimeZone {
    get { self[TimeZoneDependency.self] }
    set { self[TimeZoneDependency.self] = newValue }
  }

  private enum TimeZoneDependency: DependencyKey {
    static var liveValue: TimeZone { .autoupdatingCurrent }
  }
}

extension DependencyValues {
  /// The center that hands notifications out: the default one. A test has one of its own.
  public var notificationCenter: NotificationCenter {
    get { self[NotificationCenterDependency.self] }
    set { self[NotificationCenterDependency.self] = newValue }
  }

  private enum NotificationCenterDependency: DependencyKey {
    static var liveValue: NotificationCenter { .default }
    static var testValue: NotificationCenter { NotificationCenter() }
  }
}

extension DependencyValues {
  /// The clock that keeps running while the machine sleeps.
  ///
  /// A test that uses it fails, unless it overrides it: with a ``TestClock``, which the test advances, or an
  /// ``ImmediateClock``.
  public var continuousClock: any Clock<Duration> {
    get { self[ContinuousClockKey.self] }
    set { self[ContinuousClockKey.self] = newValue }
  }

  private enum ContinuousClockKey: DependencyKey {
    static var liveValue: any Clock<Duration> { ContinuousClock() }
    static var testValue: any Clock<Duration> { unimplemented(ContinuousClock(), property: "continuousClock") }
  }
}

extension DependencyValues {
  /// The clock that stops while the machine sleeps.
  ///
  /// A test that uses it fails, unless it overrides it, as ``continuousClock``.
  public var suspendingClock: any Clock<Duration> {
    get { self[SuspendingClockKey.self] }
    set { self[SuspendingClockKey.self] = newValue }
  }

  private enum SuspendingClockKey: DependencyKey {
    static var liveValue: any Clock<Duration> { SuspendingClock() }
    static var testValue: any Clock<Duration> { unimplemented(SuspendingClock(), property: "suspendingClock") }
  }
}

/// The clock of a test that has not overridden it. No missing value: reading the clock, as a model does to hand it on,
/// is not yet a use of it.
private func unimplemented(_ clock: some Clock<Duration>, property: String) -> any Clock<Duration> {
  let name = "The dependency '\(property)'"
  guard let access = DependencyAccess.current else { return UnimplementedClock(clock, name: name) }
  return UnimplementedClock(clock, name: name, access: access)
}
