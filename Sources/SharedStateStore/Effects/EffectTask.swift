import SharedState
import SharedStateDependencies

/// An asynchronous closure with its name, priority, dependencies and location.
final class EffectTask<Action: Sendable>: Sendable {
  // A class, because it is passed on several times before it runs.

  let name: String?
  let priority: TaskPriority?
  /// The dependencies in force where the effect was made; `nil` when they are the defaults of the process.
  let dependencies: DependencyScope?
  let location: CallSite
  let operation: @Sendable (Send<Action>) async throws -> Void
  let handler: (@Sendable (any Error, Send<Action>) async -> Void)?

  init(
    name: String?,
    priority: TaskPriority?,
    dependencies: DependencyScope?,
    location: CallSite,
    operation: @escaping @Sendable (Send<Action>) async throws -> Void,
    handler: (@Sendable (any Error, Send<Action>) async -> Void)?
  ) {
    self.name = name
    self.priority = priority
    self.dependencies = dependencies
    self.location = location
    self.operation = operation
    self.handler = handler
  }

  func map<Other: Sendable>(_ transform: @escaping @Sendable (Action) -> Other) -> EffectTask<Other> {
    EffectTask<Other>(
      name: name,
      priority: priority,
      dependencies: dependencies,
      location: location,
      operation: { [operation] send in try await operation(send.pullback(transform)) },
      handler: mapped(handler, transform)
    )
  }

  private typealias Handler<Sent: Sendable> = @Sendable (any Error, Send<Sent>) async -> Void

  private func mapped<Other: Sendable>(
    _ handler: Handler<Action>?,
    _ transform: @escaping @Sendable (Action) -> Other
  ) -> Handler<Other>? {
    guard let handler else { return nil }
    return { error, send in await handler(error, send.pullback(transform)) }
  }

  /// Runs the closure, with its dependencies in force.
  func run(_ send: Send<Action>, report: @Sendable (String, CallSite) -> Void) async {
    guard let dependencies = DependencyScope.toApply(dependencies) else { return await perform(send, report: report) }
    await dependencies.inForce { await perform(send, report: report) }
  }

  private func perform(_ send: Send<Action>, report: @Sendable (String, CallSite) -> Void) async {
    do {
      try await operation(send)
    } catch is CancellationError {
      // A cancelled effect ends in this way.
    } catch {
      guard let handler else {
        if Task.isCancelled { return }
        return report("threw an error without a handler: \(error)", location)
      }
      await handler(error, send)
    }
  }
}

extension Effect {
  /// Runs an asynchronous closure, which may send actions.
  ///
  /// It runs in a task of its own, on any thread. Cancelling the effect cancels that task, and actions that it sends
  /// afterwards are not reduced. A `CancellationError` only ends the effect.
  /// - Parameters:
  ///   - priority: The priority of the task.
  ///   - name: The name of the task, for debuggers.
  ///   - operation: The closure to run. It takes the function that sends an action.
  ///   - handler: Handles an error that the operation throws. Without it such an error is reported as an issue.
  public static func run(
    priority: TaskPriority? = nil,
    name: String? = nil,
    operation: @escaping @Sendable (_ send: Send<Action>) async throws -> Void,
    catch handler: (@Sendable (_ error: any Error, _ send: Send<Action>) async -> Void)? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> Self {
    Self(
      .run(
        EffectTask(
          name: name,
          priority: priority,
          dependencies: .kept,
          location: CallSite(fileID: fileID, filePath: filePath, line: line, column: column),
          operation: operation,
          handler: handler
        )
      )
    )
  }
}

/// Sends an action from an effect.
public struct Send<Action: Sendable>: Sendable {
  private let deliver: @Sendable (Action) -> Void

  /// A function that passes actions to a closure, which is called on any thread: for tests of code that sends.
  public init(_ deliver: @escaping @Sendable (Action) -> Void) {
    self.deliver = deliver
  }

  /// Sends an action, which is reduced when this returns. Does nothing once the effect is cancelled.
  public func callAsFunction(_ action: Action) async {
    guard !Task.isCancelled else { return }
    deliver(action)
  }

  /// Sends an action from a callback. Does nothing once the effect is cancelled.
  package func now(_ action: Action) {
    // The calling task belongs to other code: its cancellation is not that of the effect.
    deliver(action)
  }

  func pullback<Other: Sendable>(_ transform: @escaping @Sendable (Other) -> Action) -> Send<Other> {
    Send<Other> { [deliver] in deliver(transform($0)) }
  }
}
