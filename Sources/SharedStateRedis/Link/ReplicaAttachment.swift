import SharedState

/// Changes a value whose type only the caller knows, and keeps the result for the caller.
///
/// It may run several times, each time on a newer value. It returns whether it has changed anything.
typealias AtomicUpdate = @Sendable (UnsafeMutableRawPointer) -> Bool

/// A link's access to the box behind one of its replicas. Never called with a lock held.
///
/// No method waits for a closure of the program that holds the lock of the value: that may take arbitrarily long.
protocol ReplicaAttachment: AnyObject, Sendable {
  /// The file and line of the share that made the box.
  var declaredAt: String? { get }
  /// Whether its values are decoded and shown without code of the program.
  var isPlain: Bool { get }
  /// Whether the value is loading, and its errors; `nil`: the box is gone.
  var status: BoxStatus? { get }
  /// Takes the newest value, to be committed, and makes documents of it; from then on the next mutation is reported
  /// again. Or runs atomic updates on the stored value.
  ///
  /// - Parameter whenUnlocked: Called once a value can be taken, maybe before this method returns.
  /// - Returns: `nil`: a closure holds the value's lock, and `whenUnlocked` will be called.
  func encode(
    _ encoding: Replica.Encoding,
    updates: [LinkState.WaiterID: AtomicUpdate],
    whenUnlocked: @escaping @Sendable () -> Void
  ) -> Replica.Encoded?
  /// Decodes a state of the server and shows it in the box, unless a local change or a newer state prevents that.
  ///
  /// - Parameter whenUnlocked: Takes the outcome, maybe before this method returns.
  /// - Returns: `nil`: a closure holds the value's lock, and `whenUnlocked` will be called when the closure has ended.
  func show(
    _ toShow: Replica.StateToShow,
    whenUnlocked: @escaping @Sendable (Replica.ShowOutcome) -> Void
  ) -> Replica.ShowOutcome?
  /// Shows a change of the status. Called on any thread, possibly late: a change must be ignored after one of the same
  /// kind with a higher number.
  func show(_ change: Replica.StatusChange, number: UInt64)
  /// A flush has reported every change of the value that was given up.
  func changesWereReported()
}

/// Refers weakly to an attachment. An object, because a weak reference is expensive to copy and to move.
final class AttachmentReference: Sendable {
  weak let attachment: (any ReplicaAttachment)?
  let isPlain: Bool

  init(_ attachment: (any ReplicaAttachment)?) {
    (self.attachment, isPlain) = (attachment, attachment?.isPlain ?? false)
  }
}
