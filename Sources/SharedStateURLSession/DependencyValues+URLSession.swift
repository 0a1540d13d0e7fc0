public import SharedStateDependencies

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension DependencyValues {
  /// The session for requests to servers: the shared one. A test that does not override it fails when it uses it.
  public var urlSession: URLSession {
    get { self[URLSessionDependency.self] }
    set { self[URLSessionDependency.self] = newValue }
  }

  private enum URLSessionDependency: DependencyKey {
    static var liveValue: URLSession { .shared }
  }
}
