/// Carries the dependencies in force to code that does not inherit them: a detached task, a thread, a callback.
///
/// ```swift
/// withEscapedDependencies { dependencies in
///   Thread.detachNewThread {
///     dependencies.yield { model.refresh() }
///   }
/// }
/// ```
/// - Parameter operation: Takes the values in force, and may keep them.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
public func withEscapedDependencies<Result>(
  _ operation: (DependencyValues.Continuation) throws -> Result
) rethrows -> Result {
  try operation(DependencyValues.Continuation(values: .captured))
}

/// Carries the dependencies in force out of an asynchronous operation, to code that does not inherit them.
/// - Parameters:
///   - isolation: The actor that the operation runs on.
///   - operation: Takes the values in force, and may keep them.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
public func withEscapedDependencies<Result>(
  isolation: isolated (any Actor)? = #isolation,
  _ operation: (DependencyValues.Continuation) async throws -> Result
) async rethrows -> Result {
  try await operation(DependencyValues.Continuation(values: .captured))
}

extension DependencyValues {
  /// Dependencies on their way to another task or thread.
  public struct Continuation: Sendable {
    let values: DependencyValues

    /// Runs an operation with the carried dependencies. May be called any number of times, from any thread.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public func yield<Result>(_ operation: () throws -> Result) rethrows -> Result {
      try values.inForce(operation)
    }

    /// Runs an asynchronous operation with the carried dependencies. May be called any number of times.
    /// - Parameters:
    ///   - isolation: The actor that the operation runs on.
    ///   - operation: The code that runs with the dependencies.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public func yield<Result>(
      isolation: isolated (any Actor)? = #isolation,
      _ operation: () async throws -> Result
    ) async rethrows -> Result {
      try await values.inForce(isolation: isolation, operation)
    }
  }
}
