import Synchronization

/// One task that waits for the next change of a box, resumed exactly once.
final class ChangeWaiter: Sendable {
  private enum State {
    case initial
    case waiting(CheckedContinuation<Void, Never>)
    case resumed
  }

  private let state = Mutex(State.initial)

  /// Suspends the task until ``resume()`` is called, which may already have happened.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isResumed = state.withLock { state in
        if case .resumed = state { return true }
        state = .waiting(continuation)
        return false
      }
      if isResumed { continuation.resume() }
    }
  }

  /// Resumes the task. Only the first call has an effect.
  func resume() {
    let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
      defer { state = .resumed }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume()
  }
}
