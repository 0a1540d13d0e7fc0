public import Foundation

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
