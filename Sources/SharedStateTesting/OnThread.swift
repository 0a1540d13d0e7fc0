import SharedStateDependencies

/// Runs a closure on a thread with a stack of this size, in bytes, and returns its result.
/// - Throws: The error of the closure; `ThreadStarter.Refusal`.
package func onThread<Value: Sendable>(
  stackSize: Int,
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    do {
      try ThreadStarter.system.start("test", stackSize: stackSize) { continuation.resume(with: Result { try body() }) }
    } catch {
      continuation.resume(throwing: error)
    }
  }
}
