package import Foundation

/// What a link calls to reach the reference behind one of its replicas. Never called with a lock held.
package protocol ReplicaAttachment: AnyObject, Sendable {
  /// Takes the newest value, to be committed, and encodes it. From then on the next mutation is reported again.
  func encodeSnapshot() -> (stamp: UInt64, result: Result<Data, RedisSharedStateError>)
  /// Decodes a state of the server and shows it, unless something is in the way.
  func show(_ delivery: Replica.Delivery) -> Replica.DeliveryOutcome
  // Any thread calls these, and maybe late: nothing is to be set when a higher number was set before.
  func setLoading(_ isLoading: Bool, number: UInt64)
  func setLoadError(_ error: RedisSharedStateError?, number: UInt64)
  func setSaveError(_ error: RedisSharedStateError?, number: UInt64)
}
