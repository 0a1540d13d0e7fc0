public import Synchronization

/// Waits for a callback, or until the task is cancelled, whichever is first. A cancellation does not stop what `body`
/// has begun.
///
/// Inlinable, like the continuation, so that it is specialised at the call: looking up the metadata of generic
/// types costs more than waiting.
/// - Parameters:
///   - body: Begins the work that calls back.
///   - onCancel: Called after a cancellation, when the continuation no longer waits.
/// - Throws: The error of the callback, or `CancellationError`.
@inlinable
package func withCancellableContinuation<Value: Sendable>(
  _ body: (CancellableContinuation<Value>) -> Void,
  onCancel: @escaping @Sendable () -> Void = {}
) async throws -> Value {
  let continuation = CancellableContinuation<Value>()
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { checked in
      if continuation.install(checked) { body(continuation) }
    }
  } onCancel: {
    continuation.resume(with: .failure(CancellationError()))
    onCancel()
  }
}

/// Waits as ``withCancellableContinuation(_:onCancel:)`` does. A cancellation also cancels the tasks that a key has
/// begun.
func withKeyContinuation<Value: Sendable>(
  _ body: (CancellableContinuation<Value>) -> Void,
  onCancel: @escaping @Sendable () -> Void = {}
) async throws -> Value {
  let tasks = KeyTasks()
  return try await withCancellableContinuation { continuation in
    KeyTasks.$current.withValue(tasks) { body(continuation) }
  } onCancel: {
    tasks.cancel()
    onCancel()
  }
}

/// A continuation that keeps the first result and ignores the others.
@usableFromInline
package final class CancellableContinuation<Value: Sendable>: Sendable {
  @usableFromInline
  enum State {
    case initial
    case waiting(CheckedContinuation<Value, any Error>)
    case done
  }

  @usableFromInline
  let state = Mutex(State.initial)

  @inlinable
  package init() {}

  /// Takes the task's continuation; returns `false` when the task was cancelled before.
  @inlinable
  func install(_ checked: CheckedContinuation<Value, any Error>) -> Bool {
    let isCancelled = state.withLock { state in
      if case .done = state { return true }
      state = .waiting(checked)
      return false
    }
    if isCancelled { checked.resume(throwing: CancellationError()) }
    return !isCancelled
  }

  /// Whether there is no result yet.
  var isWaiting: Bool {
    state.withLock { state in
      if case .done = state { false } else { true }
    }
  }

  /// Resumes the task. Only the first result counts.
  @inlinable
  package func resume(with result: Result<Value, any Error>) {
    let checked: CheckedContinuation<Value, any Error>? = state.withLock { state in
      defer { state = .done }
      if case .waiting(let checked) = state { return checked }
      return nil
    }
    checked?.resume(with: result)
  }
}
