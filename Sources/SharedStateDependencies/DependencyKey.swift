import IssueReporting

/// A key of a dependency that has a value for tests, and perhaps one for previews.
///
/// Conform to this protocol where the live implementation is not accessible, as in a module of interfaces, and add
/// ``DependencyKey`` where it is.
///
/// A default is evaluated once and then kept: for each test, or for the process outside of tests. Two threads that need
/// it first at the same time may both evaluate it; both then get the same one. If evaluating it twice does harm, make
/// the requirement a `static let`, but note that all tests then share its value. Defaults are evaluated on any thread,
/// so a conformance cannot be isolated to an actor.
public protocol TestDependencyKey<Value>: SendableMetatype {
  /// The type of the dependency.
  associatedtype Value: Sendable = Self

  /// The default in tests.
  static var testValue: Value { get }

  /// The default in previews: ``testValue`` unless declared.
  static var previewValue: Value { get }
}

extension TestDependencyKey {
  /// The default in previews, the same as in tests.
  public static var previewValue: Value { testValue }
}

/// Whether a default that is being made should report that it has to be overridden; `false`: it is only read because an
/// override takes its place, or changes a part of it.
///
/// For a ``TestDependencyKey/testValue`` that reports itself:
///
/// ```swift
/// static var testValue: Client {
///   if shouldReportUnimplemented { Issue.record("Override the client.") }
///   return Client()
/// }
/// ```
///
/// A default that has read `false` is not kept: it is made again when it is used.
public var shouldReportUnimplemented: Bool {
  guard DependencyValues.isUpdating else { return true }
  PostponedIssue.current?.skipReport()
  return false
}

/// A key of a dependency that has a value for the running program.
///
/// ```swift
/// private enum GreeterKey: DependencyKey {
///   static var liveValue: Greeter { Greeter(name: "world") }
///   static var testValue: Greeter { Greeter(name: "test") }
/// }
///
/// extension DependencyValues {
///   var greeter: Greeter {
///     get { self[GreeterKey.self] }
///     set { self[GreeterKey.self] = newValue }
///   }
/// }
/// ```
public protocol DependencyKey<Value>: TestDependencyKey {
  /// The type of the dependency.
  associatedtype Value = Self

  /// The default in the running program.
  static var liveValue: Value { get }
}

extension DependencyKey {
  /// The default in previews, the same as in the running program.
  public static var previewValue: Value { liveValue }

  /// The default in tests: ``TestDependencyKey/previewValue``, with an issue, because a test that reaches a live
  /// dependency by accident should fail.
  public static var testValue: Value {
    DependencyAccess.reportMissing("test value", of: Self.self, advice: "override it with 'withDependencies'")
    return previewValue
  }
}
