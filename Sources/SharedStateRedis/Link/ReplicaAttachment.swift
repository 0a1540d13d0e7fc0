package import Foundation

/// What a link calls to reach the reference behind one of its replicas. Never called with a lock held.
package protocol ReplicaAttachment: AnyObject, Sendable {
  /// Takes the newest value, to be committed, and encodes it. From then on the next mutation is reported again.
  func encodeSnapshot() -> (stamp: UInt64, result: Result<Data, RedisSharedStateError>)
  /// Decodes a state of the server and shows it, unless something is in the way.
  func show(_ delivery: Replica.Delivery) -> Replica.DeliveryOutcome
  /// Shows how the share stands, unless something newer was shown.
  func report(_ status: ShareStatus)
}
