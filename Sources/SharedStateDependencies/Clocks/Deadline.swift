/// Runs an operation for a limited time.
package enum Deadline {
  /// Returns the result of the operation, or throws the error that `onTimeout` makes when the time is over first.
  ///
  /// The operation is cancelled when the time is over, and has to end then.
  package static func run<Value: Sendable>(
    within timeout: Duration,
    operation: @escaping @Sendable () async throws -> Value,
    onTimeout: @escaping @Sendable () -> any Error
  ) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await operation() }
      group.addTask {
        try await Schedules.sleep(for: timeout)
        return nil
      }
      defer { group.cancelAll() }
      guard let first = try await group.next(), let value = first else { throw onTimeout() }
      return value
    }
  }
}
