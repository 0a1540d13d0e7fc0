import IssueReporting

/// Begins work that no caller waits for, as the dependency `fireAndForget`.
///
/// ```swift
/// @Dependency(\.fireAndForget) var fireAndForget
///
/// await fireAndForget { try await analytics.track("tapped") }
/// ```
///
/// In a program the work runs in a task of its own, and its error is ignored. In a test the call waits for the work, so
/// that the test sees its effects, and an error is an issue.
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
  ///   - operation: The work. In a test, an error that it throws is an issue at the line of the call; otherwise it is
  ///     ignored.
  public func callAsFunction(
    priority: TaskPriority? = nil,
    _ operation: @escaping Operation,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    guard isTesting else { return await begin(priority, operation) }
    let access = DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
    await DependencyAccess.$current.withValue(access) { await begin(priority, operation) }
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
      do {
        try await Task(priority: priority) { try await operation() }.value
      } catch {
        DependencyAccess.report("The work of 'fireAndForget' has failed: \(error)")
      }
    }
  }
}
