/// Changes a value of which only the caller knows the type, and keeps what came of it for the caller.
///
/// It may run several times, each time on a newer value; it says whether it has changed anything.
package typealias AtomicUpdate = @Sendable (UnsafeMutableRawPointer) -> Bool

/// What a link calls to reach the box behind one of its replicas. Never called with a lock held.
///
/// None of it waits for a closure of the program's that has the value: that may take as long as it likes.
package protocol ReplicaAttachment: AnyObject, Sendable {
  /// The file and line of the share that has made the box.
  var declaredAt: String? { get }
  /// Takes the newest value, to be committed, and makes documents of it; from then on the next mutation is reported
  /// again. Or runs atomic updates on what is stored.
  ///
  /// - Parameter whenUnlocked: Called once there is a value to be taken, maybe before this method returns.
  /// - Returns: `nil`: a closure has the value, and `whenUnlocked` is called.
  func encode(
    _ encoding: Replica.Encoding,
    updates: [LinkState.WaiterID: AtomicUpdate],
    whenUnlocked: @escaping @Sendable () -> Void
  ) -> Replica.Encoded?
  /// Decodes a state of the server and shows it, unless something is in the way.
  ///
  /// - Parameter whenUnlocked: Takes the outcome, maybe before this method returns.
  /// - Returns: `nil`: a closure has the value, and `whenUnlocked` is called when it has ended.
  func show(
    _ delivery: Replica.Delivery,
    whenUnlocked: @escaping @Sendable (Replica.DeliveryOutcome) -> Void
  ) -> Replica.DeliveryOutcome?
  // Any thread calls these, and maybe late: nothing is to be set when a higher number was set before.
  func setLoading(_ isLoading: Bool, number: UInt64)
  func setLoadError(_ error: RedisSharedStateError?, number: UInt64)
  func setSaveError(_ error: RedisSharedStateError?, number: UInt64)
}
