/// Begins work that no caller waits for, as the dependency `fireAndForget`.
///
/// ```swift
/// @Dependency(\.fireAndForget) var fireAndForget
///
/// await fireAndForget { try await analytics.track("tapped") }
/// ```
///
/// In a program the work runs in a task of its own, and its error is ignored. In a test the call waits for the work, so
/// that the test sees its effects.
public struct FireAndForget: Sendable {
  /// The work of a call.
  public typealias Operation = @Sendable () async throws -> Void

  private let begin: @Sendable (_ priority: TaskPriority?, _ operation: @escaping Operation) async -> Void

  /// A closure that begins the work, and returns when the caller may continue. It is called on any thread.
  public init(_ begin: @escaping @Sendable (_ priority: TaskPriority?, _ operation: @escaping Operation) async -> Void)
  {
    self.begin = begin
  }

  /// Begins the work.
  ///
  /// - Parameters:
  ///   - priority: The priority of the task.
  ///   - operation: The work. An error that it throws is ignored.
  public func callAsFunction(priority: TaskPriority? = nil, _ operation: @escaping Operation) async {
    await begin(priority, operation)
  }
}

extension DependencyValues {
  /// Begins work that no caller waits for.
  public var fireAndForget: FireAndForget {
    get { self[FireAndForgetKey.self] }
    set { self[FireAndForgetKey.self] = newValue }
  }

  private enum FireAndForgetKey: DependencyKey {
    static let liveValue = FireAndForget { priority, operation in
      Task(priority: priority) { try await operation() }
    }
    static let testValue = FireAndForget { priority, operation in
      _ = await Task(priority: priority) { try await operation() }.result
    }
  }
}
