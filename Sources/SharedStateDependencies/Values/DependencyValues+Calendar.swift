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
