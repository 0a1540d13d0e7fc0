import Synchronization

/// The tasks that a key begins during a call. The caller can cancel them, and wait for their end.
///
/// It is bound to the task or thread that calls the key, so that a key that wraps another need not pass it on.
package final class KeyTasks: Sendable {
  private struct State {
    /// Those that have not ended, by number.
    var tasks: [Int: Task<Void, Never>] = [:]
    /// Those that have ended before they were added.
    var endedEarly: Set<Int> = []
    var begun = 0
    var ended = 0
    var isCancelled = false
    var onEnd: (@Sendable () -> Void)?
  }

  /// The tasks of the present call.
  @TaskLocal static var current: KeyTasks?

  private let state = Mutex(State())

  /// Runs the operation in a task, which belongs to the present call, if there is one.
  @discardableResult
  package static func run(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    guard let current else { return Task(operation: operation) }
    return current.run(operation)
  }

  /// How many tasks are kept.
  var count: Int { state.withLock { $0.tasks.count + $0.endedEarly.count } }

  /// Whether any task was begun.
  var areUsed: Bool { state.withLock { $0.begun > 0 } }

  /// Whether any task was begun, and the tasks were cancelled.
  var areCancelled: Bool { state.withLock { $0.isCancelled && $0.begun > 0 } }

  /// Cancels the tasks, and all that are begun later.
  func cancel() {
    let tasks = state.withLock { state in
      state.isCancelled = true
      return state.tasks.values
    }
    for task in tasks { task.cancel() }
  }

  /// Calls back once, when the last task has ended, on its thread.
  ///
  /// - Returns: `false` when no task is running; the body is not called then.
  func whenEnded(_ body: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard state.begun > state.ended else { return false }
      state.onEnd = body
      return true
    }
  }

  private func run(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    let number = state.withLock { state in
      state.begun += 1
      return state.begun
    }
    let task = Task {
      // Calls of keys inside the task are calls of their own.
      await Self.$current.withValue(nil) {
        await operation()
        end(number)
      }
    }
    let isCancelled = state.withLock { state in
      if state.endedEarly.remove(number) == nil { state.tasks[number] = task }
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
    return task
  }

  private func end(_ number: Int) {
    let onEnd: (@Sendable () -> Void)? = state.withLock { state in
      if state.tasks.removeValue(forKey: number) == nil { state.endedEarly.insert(number) }
      state.ended += 1
      guard state.ended == state.begun else { return nil }
      defer { state.onEnd = nil }
      return state.onEnd
    }
    onEnd?()
  }
}
