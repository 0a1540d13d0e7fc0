import SharedState
import Synchronization

/// Notifies when a share inside a state changes.
package final class ShareObservations: Sendable {
  private let notify: @Sendable () -> Void
  private let observations = Mutex<[ObjectIdentifier: any Sendable]>([:])

  package init(_ notify: @escaping @Sendable () -> Void) {
    self.notify = notify
  }

  /// Observes the shares of a state from now on, and no others.
  package func follow(_ state: some Sendable) {
    var shares: [ObjectIdentifier: any ObservableShare] = [:]
    Self.collect(state, &shares)
    let old = observations.withLock { $0 }
    guard Set(old.keys) != Set(shares.keys) else { return }
    let new = shares.map { id, share in (id, old[id] ?? share.observeChanges(notify)) }
    // Replaced observations end after the lock is released.
    observations.withLock { $0 = Dictionary(uniqueKeysWithValues: new) }
    withExtendedLifetime(old) {}
  }

  /// Whether a state contains shares.
  static func areIn(_ state: some Sendable) -> Bool {
    var shares: [ObjectIdentifier: any ObservableShare] = [:]
    collect(state, &shares)
    return !shares.isEmpty
  }

  private static func collect(_ value: Any, _ shares: inout [ObjectIdentifier: any ObservableShare]) {
    if let share = value as? any ObservableShare {
      shares[share.shareIdentity] = share
      return
    }
    for child in Mirror(reflecting: value).children { collect(child.value, &shares) }
  }
}
