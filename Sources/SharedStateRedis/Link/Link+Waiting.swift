import SharedState
import Synchronization

extension Link {
  /// Returns the answer for a waiter. A cancellation ends the wait immediately, and forgets the waiter.
  ///
  /// - Parameters:
  ///   - id: As for ``ask(sending:_:_:)``.
  ///   - begin: Makes the waiter, under the lock.
  ///   - onCancellation: Ends the waiter instead, and may throw another error than `CancellationError`.
  /// - Throws: The error of the waiter, or `CancellationError`.
  @discardableResult
  func wait(
    sending id: LinkState.ReplicaID? = nil,
    _ begin: (inout LinkState, @escaping LinkState.WaiterCallback) throws(RedisSharedStateError) -> LinkState.WaiterID,
    onCancellation: ((LinkState.WaiterID) throws -> Void)? = nil
  ) async throws -> StoredValue? {
    let waiter = Mutex<LinkState.WaiterID?>(nil)
    do {
      return try await withCancellableContinuation { continuation in
        let made = ask(sending: id, { continuation.resume(with: $0.mapError { $0 }) }, begin)
        waiter.withLock { $0 = made }
      }
    } catch let error as CancellationError {
      if let made = waiter.withLock({ $0 }) {
        if let onCancellation { try onCancellation(made) } else { forget([made]) }
      }
      throw error
    }
  }
}
