import SharedState
import Synchronization

extension Link {
  /// Returns once the callback of a waiter is called. A cancellation ends the wait immediately, and forgets the waiter.
  ///
  /// - Parameter begin: Makes the waiter, with that callback.
  /// - Throws: The error of the waiter, or `CancellationError`.
  func wait(_ begin: (@escaping LinkState.WaiterCallback) -> LinkState.WaiterID?) async throws {
    try await wait(begin) { forget([$0]) }
  }

  /// - Parameter onCancellation: Ends the waiter, and may throw another error than `CancellationError`.
  func wait(
    _ begin: (@escaping LinkState.WaiterCallback) -> LinkState.WaiterID?,
    onCancellation: (LinkState.WaiterID) throws -> Void
  ) async throws {
    let waiter = Mutex<LinkState.WaiterID?>(nil)
    do {
      let _: StoredValue? = try await withCancellableContinuation { continuation in
        let id = begin { continuation.resume(with: $0.mapError { $0 }) }
        waiter.withLock { $0 = id }
      }
    } catch let error as CancellationError {
      if let id = waiter.withLock({ $0 }) { try onCancellation(id) }
      throw error
    }
  }
}
