/// Runs an operation that must be done in time.
///
/// - Parameters:
///   - timeout: How long it may take.
///   - what: What it waits for; completes the sentence "… did not come in time".
/// - Throws: ``DemoError`` after the timeout, or what the operation throws.
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
      throw DemoError("Waited \(timeout) in vain for \(what).")
    }
    guard let result = try await tasks.next() else { throw CancellationError() }
    return result
  }
}
