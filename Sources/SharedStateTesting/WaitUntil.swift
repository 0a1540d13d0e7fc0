import Observation
import SharedState

/// Returns once a condition holds. The condition may read observable properties only.
///
/// - Throws: `CancellationError` when the task is cancelled first.
package func waitUntil(_ condition: @escaping @Sendable () -> Bool) async throws {
  while !condition() {
    try await withCancellableContinuation { (continuation: CancellableContinuation<Void>) in
      withObservationTracking {
        _ = condition()
      } onChange: {
        continuation.resume(with: .success(()))
      }
      // Observation registers a reader after it has read, so it misses a change in between.
      if condition() { continuation.resume(with: .success(())) }
    }
  }
}
