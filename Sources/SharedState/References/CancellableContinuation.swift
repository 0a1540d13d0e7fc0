import Synchronization

/// Waits for a callback, or until the task is cancelled, whichever is first.
///
/// What was begun goes on after a cancellation, except for the tasks of asynchronous keys.
/// - Parameters:
///   - body: Begins what calls back.
///   - onCancel: Called after a cancellation, when the continuation does not wait any more.
/// - Throws: What the callback says, or `CancellationError`.
package func withCancellableContinuation<Value: Sendable>(
  _ body: (CancellableContinuation<Value>) -> Void,
  onCancel: @escaping @Sendable () -> Void = {}
) async throws -> Value {
  let continuation = CancellableContinuation<Value>()
  let tasks = KeyTasks()
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { checked in
      guard continuation.install(checked) else { return }
      KeyTasks.$current.withValue(tasks) { body(continuation) }
    }
  } onCancel: {
    continuation.resume(with: .failure(CancellationError()))
    tasks.cancel()
    onCancel()
  }
}

/// A continuation that keeps the first result and ignores the others.
package final class CancellableContinuation<Value: Sendable>: Sendable {
  private enum State {
    case initial
    case waiting(CheckedContinuation<Value, any Error>)
    case done
  }

  private let state = Mutex(State.initial)

  /// Takes the task's continuation; `false` when the task was cancelled before.
  fileprivate func install(_ checked: CheckedContinuation<Value, any Error>) -> Bool {
    let isCancelled = state.withLock { state in
      if case .done = state { return true }
      state = .waiting(checked)
      return false
    }
    if isCancelled { checked.resume(throwing: CancellationError()) }
    return !isCancelled
  }

  /// Whether there was no result yet.
  var isWaiting: Bool {
    state.withLock { state in
      if case .done = state { false } else { true }
    }
  }

  /// Resumes the task. Only the first result counts.
  package func resume(with result: Result<Value, any Error>) {
    let checked: CheckedContinuation<Value, any Error>? = state.withLock { state in
      defer { state = .done }
      if case .waiting(let checked) = state { return checked }
      return nil
    }
    checked?.resume(with: result)
  }
}
