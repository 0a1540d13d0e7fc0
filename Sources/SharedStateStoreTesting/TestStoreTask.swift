import SharedState
import SharedStateStore

/// The effects of an action that a test has sent.
public struct TestStoreTask: Sendable {
  let node: EffectNode?
  /// The feature and the action, for a message. A closure, because describing an action takes longer than sending it.
  let describe: @Sendable () -> (feature: String, action: String)
  let timeout: Duration
  let executor: TestExecutor

  /// Waits until all of them have ended. Reports a failure if they do not end in time.
  ///
  /// - Parameter timeout: How long to wait; by default the timeout of the store.
  public func finish(
    timeout: Duration? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    guard let node else { return }
    let timeout = timeout ?? self.timeout
    let deadline = executor.now + timeout
    while !node.hasEnded {
      guard executor.now < deadline, !Task.isCancelled else {
        let (feature, action) = describe()
        return CallSite(fileID: fileID, filePath: filePath, line: line, column: column).report(
          """
          Expected task to finish, but it is still in-flight after \(timeout). It comes from this action of '\(feature)':

          \(action.indented(by: 4))

          If it needs longer, say so with 'timeout'; if it never ends, cancel it.
          """
        )
      }
      await executor.letOthersRun()
    }
  }

  /// Cancels all of them, and waits until they have ended.
  public func cancel() async {
    node?.cancel()
    await node?.finish()
  }

  /// Whether they were cancelled.
  public var isCancelled: Bool { node?.isCancelled ?? false }
}
