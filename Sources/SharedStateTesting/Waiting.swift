import Dispatch
import SharedStateDependencies
package import Testing

/// How long a test waits before it fails. Generous, because only a failing test waits this long.
package let patience = Duration.seconds(60)

/// A test has waited for a condition that did not come true in time, or before its task was cancelled.
package struct WaitedInVain: Error, CustomStringConvertible {
  package let description: String

  package init(for what: String, found: String? = nil) {
    description = "waited in vain for \(what)" + (found.map { "; found: \($0)" } ?? "")
  }
}

/// Waits for a closure to return, for at most ``patience`` and the test's time limit.
///
/// Cancelling a task does not end a wait by itself, so `wait` has to end when its task is cancelled. A test that kept
/// waiting after its time limit would never end, and neither would the whole run.
/// - Parameters:
///   - what: A description of the awaited event, for the failure.
///   - found: A description of the state when the wait failed, for the failure.
/// - Throws: ``WaitedInVain``. When the time is over, it is recorded as an issue first. When the task is cancelled, it
///   is not, because the test may intend that. Errors of `wait` are thrown as they are.
package func inTime<Result: Sendable>(
  _ what: String,
  found: (@Sendable () -> String)? = nil,
  sourceLocation: SourceLocation = #_sourceLocation,
  wait: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  do {
    return try await Deadline.run(within: patience, operation: wait) { WaitedInVain(for: what, found: found?()) }
  } catch let error as WaitedInVain {
    Issue.record("\(error)", sourceLocation: sourceLocation)
    throw error
  } catch is CancellationError where Task.isCancelled {
    throw WaitedInVain(for: what, found: found?())
  }
}

/// Waits for a condition that can only be polled, such as one that another process brings about.
package func eventually(
  _ what: String,
  sourceLocation: SourceLocation = #_sourceLocation,
  _ isSo: @escaping @Sendable () async throws -> Bool
) async throws {
  try await inTime(what, sourceLocation: sourceLocation) {
    while try await !isSo() { try await Task.sleep(for: .milliseconds(2)) }
  }
}

extension DispatchSemaphore {
  /// Blocks the thread until the semaphore is signalled, for at most ``patience``.
  ///
  /// - Returns: Whether it was signalled.
  @discardableResult
  package func waitInTime() -> Bool {
    let (seconds, _) = patience.components
    return wait(timeout: .now() + .seconds(Int(seconds))) == .success
  }
}
