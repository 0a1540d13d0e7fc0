public import SharedStateDependencies
public import Testing

/// Provides a test, or each test of a suite, with dependencies of its own, and overrides some of them.
///
/// ```swift
/// @Suite(.dependency(\.greeter, Greeter(name: "suite")))
/// struct GreeterTests {
///   @Test(.dependencies { $0.greeter.volume = 11 })
///   func loud() { … }
/// }
/// ```
///
/// Every test has fresh values even without the trait. The trait also releases them when the test ends, whatever its
/// outcome, stops a `RedisStore` that is the test's default, and makes fresh values for each repetition of a test. A
/// test's trait adds to its suite's.
public struct DependenciesTrait: SuiteTrait, TestTrait, TestScoping {
  fileprivate let updateValues: @Sendable (inout DependencyValues) async throws -> Void

  /// `true`: each test of a suite gets values of its own.
  public var isRecursive: Bool { true }

  /// Runs a test with its dependencies.
  /// - Throws: The errors of the overrides and of the test.
  public func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable () async throws -> Void
  ) async throws {
    let isOutermost = DependencyValues.current.cache == nil
    let values = DependencyValues.current.withOwnCache()
    defer { if isOutermost { values.cache?.reset() } }
    try await DependencyValues.withInForce(values) {
      try await withDependencies(updateValues, operation: function)
    }
  }
}

extension Trait where Self == DependenciesTrait {
  /// Fresh dependencies for each test, released when it ends.
  public static var dependencies: Self {
    DependenciesTrait { _ in }
  }

  /// Fresh dependencies for each test, some of them overridden.
  /// - Parameter updateValues: Changes the values for one test; called for each test and each case.
  public static func dependencies(
    _ updateValues: @escaping @Sendable (inout DependencyValues) async throws -> Void
  ) -> Self {
    DependenciesTrait(updateValues: updateValues)
  }

  /// Fresh dependencies for each test, one of them overridden.
  /// - Parameters:
  ///   - keyPath: The dependency.
  ///   - value: Its value; evaluated for each test and each case.
  public static func dependency<Value>(
    _ keyPath: any WritableKeyPath<DependencyValues, Value> & Sendable,
    _ value: @autoclosure @escaping @Sendable () throws -> Value
  ) -> Self {
    DependenciesTrait { $0[keyPath: keyPath] = try value() }
  }

  /// Fresh dependencies for each test, with an override of a dependency whose type is its key.
  /// - Parameter value: Its value; evaluated for each test and each case.
  public static func dependency<Value: TestDependencyKey>(
    _ value: @autoclosure @escaping @Sendable () throws -> Value
  ) -> Self where Value.Value == Value {
    DependenciesTrait { $0[Value.self] = try value() }
  }
}
