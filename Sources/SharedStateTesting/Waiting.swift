import Dispatch
import SharedStateDependencies
package import Testing

/// How long a test waits for what has to happen. Generous, because it is never waited for in vain.
package let patience = Duration.seconds(60)

/// A test has waited for something that did not happen, in time or before its task was cancelled.
package struct WaitedInVain: Error, CustomStringConvertible {
  package let description: String

  package init(for what: String, found: String? = nil) {
    description = "waited in vain for \(what)" + (found.map { "; found: \($0)" } ?? "")
  }
}

/// Waits for something, with ``patience``, and no longer than the test's time limit.
///
/// Cancelling a task ends no wait by itself: what is handed in here has to end when its task is cancelled. A test that
/// goes on waiting after its time limit would never end, and with it the whole run.
/// - Parameters:
///   - what: What is waited for, as the failure says it.
///   - found: What there is instead, as the failure says it.
/// - Throws: ``WaitedInVain``: after it was recorded, when the time is over; when the task is cancelled, which may be
///   what the test wants. What `wait` throws.
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

/// Waits for something that tells nobody when it happens, such as what another process does.
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
  /// Blocks the thread until somebody signals, with ``patience``.
  ///
  /// - Returns: Whether somebody did.
  @discardableResult
  package func waitInTime() -> Bool {
    let (seconds, _) = patience.components
    return wait(timeout: .now() + .seconds(Int(seconds))) == .success
  }
}
