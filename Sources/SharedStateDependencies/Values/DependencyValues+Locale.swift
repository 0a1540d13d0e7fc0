public import Foundation

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
