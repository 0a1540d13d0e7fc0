import IssueReporting

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

  /// The default in tests: ``TestDependencyKey/previewValue``, and an issue, since a test that reaches a live
  /// dependency by accident should fail.
  public static var testValue: Value {
    DependencyAccess.reportMissing("test value", of: Self.self, advice: "override it with 'withDependencies'")
    return previewValue
  }
}
