/// Runs an operation that must be done in time.
///
/// - Parameters:
///   - timeout: How long it may take.
///   - what: The event that the operation waits for; completes the sentence "Timed out … waiting for …".
/// - Throws: ``DemoError`` after the time-out, or the error of the operation.
func within<Result: Sendable>(
  _ timeout: Duration,
  _ what: String,
  _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup(of: Result.self) { tasks in
    defer { tasks.cancelAll() }
    tasks.addTask(operation: operation)
    tasks.addTask {
      try await Task.sleep(for: timeout)
      throw DemoError("Timed out after \(timeout) waiting for \(what).")
    }
    guard let result = try await tasks.next() else { throw CancellationError() }
    return result
  }
}
