import Synchronization

/// An observer that is notified of every change of a box, with the changes that are not delivered yet.
final class ValueObserver<Value>: @unchecked Sendable {
  /// A value, and the version of the box that has it.
  typealias Change = (value: Value, version: UInt64)

  // `@unchecked Sendable` and the unchecked exclusivity are right because the mutable properties are only touched with
  // the side lock of the box held. The closures are called by one thread at a time; when the value is not
  // `Sendable`, neither are the shares, so that all of it stays in one isolation.

  @exclusivity(unchecked)
  private var waiting: [Change] = []

  /// Whether the last waiting value has replaced others, because there were too many.
  @exclusivity(unchecked)
  private var hasSkipped = false

  /// The skipped values, until they are released without a lock, because their deinitialisers are user code.
  @exclusivity(unchecked)
  private var skipped: [Change] = []

  @exclusivity(unchecked)
  private var isDraining = false

  private let isCancelled = Atomic(false)
  private let body: (Value, UInt64) -> Void

  /// Whether it is notified on the main thread, and nowhere else.
  let isOnMainThread: Bool

  /// Called when a projection no longer points to the box.
  let onSwap: () -> Void

  /// How many changes may wait for delivery. When there are more, those in between are skipped; the newest never is.
  static var capacity: Int { 256 }

  init(onMainThread: Bool, onSwap: @escaping () -> Void, body: @escaping (Value, UInt64) -> Void) {
    isOnMainThread = onMainThread
    self.onSwap = onSwap
    self.body = body
  }

  // MARK: With the side lock of the box held

  /// Adds a change. The caller calls ``takeSkipped()`` afterwards.
  func queue(_ change: Change) {
    // Once one value is skipped, all but the newest are.
    if hasSkipped { skipped.append(waiting.removeLast()) }
    hasSkipped = hasSkipped || waiting.count >= Self.capacity
    waiting.append(change)
  }

  /// Hands over the skipped values, to be released.
  func takeSkipped() -> [Change] {
    defer { skipped = [] }
    return skipped
  }

  /// Whether the caller has to deliver the waiting values. If not, another thread does, or none wait.
  func beginDraining() -> Bool {
    guard !isDraining, !waiting.isEmpty else { return false }
    isDraining = true
    return true
  }

  /// Whether values wait that no thread is delivering.
  var isWaitingForThread: Bool { !isDraining && !waiting.isEmpty }

  /// Moves the waiting values into an empty batch. Returns `false` when there are none, and the draining has ended.
  func takeBatch(_ batch: inout [Change]) -> Bool {
    // Swapped even when none wait: the old batch has memory, which is kept for the next change.
    swap(&waiting, &batch)
    hasSkipped = false
    isDraining = !batch.isEmpty
    return isDraining
  }

  /// Leaves the waiting values to another thread. Returns whether there are any.
  func endDraining() -> Bool {
    isDraining = false
    return !waiting.isEmpty
  }

  // MARK: Without the lock

  /// Delivers the values of the batch, and empties it.
  func notify(_ batch: inout [Change]) {
    for change in batch where !isCancelled.load(ordering: .relaxed) { body(change.value, change.version) }
    batch.removeAll(keepingCapacity: true)
  }

  /// Ends the delivery. A value that is being delivered at this moment still arrives.
  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
  }
}

/// Keeps an observation until it is cancelled or released.
final class ValueObservation: Sendable {
  private let subscription: SharedSubscription

  init(_ cancel: @escaping @Sendable () -> Void) {
    subscription = SharedSubscription(cancel)
  }

  /// Ends the observation. A value that is being delivered on another thread at this moment still arrives; no other
  /// does.
  func cancel() {
    subscription.cancel()
  }
}
