import Synchronization

/// One who is told of every change of a box, and the changes that it has not been told of yet.
final class ValueObserver<Value>: @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because the mutable properties are only touched with
  // the side lock of the box held. The closures are called by one thread at a time; when the value is not
  // `Sendable`, neither are the shares, so that all of it stays in one isolation.

  @exclusivity(unchecked)
  private var waiting: [Value] = []

  /// Whether the last one of those that wait stands for others, because there were too many.
  @exclusivity(unchecked)
  private var hasSkipped = false

  /// What was skipped, until somebody releases it without a lock: its deinitialiser is somebody else's code.
  @exclusivity(unchecked)
  private var skipped: [Value] = []

  @exclusivity(unchecked)
  private var isDraining = false

  private let isCancelled = Atomic(false)
  private let body: (Value) -> Void

  /// Whether it is told on the main thread, and nowhere else.
  let isOnMainThread: Bool

  /// Called when a projection does not point to the box any more.
  let onSwap: () -> Void

  /// How many changes may wait to be told. When there are more, those in between are skipped; the newest never is.
  static var capacity: Int { 256 }

  init(onMainThread: Bool, onSwap: @escaping () -> Void, body: @escaping (Value) -> Void) {
    isOnMainThread = onMainThread
    self.onSwap = onSwap
    self.body = body
  }

  // MARK: With the side lock of the box held

  /// Adds a change. Whoever does so calls ``takeSkipped()`` afterwards.
  func queue(_ value: Value) {
    // Once one is skipped all are, but for the newest.
    if hasSkipped { skipped.append(waiting.removeLast()) }
    hasSkipped = hasSkipped || waiting.count >= Self.capacity
    waiting.append(value)
  }

  /// Hands over what was skipped, to be released.
  func takeSkipped() -> [Value] {
    defer { skipped = [] }
    return skipped
  }

  /// Whether the caller has to tell what waits; when not, somebody else does or there is nothing.
  func beginDraining() -> Bool {
    guard !isDraining, !waiting.isEmpty else { return false }
    isDraining = true
    return true
  }

  /// Whether something waits that nobody is telling.
  var isWaitingForThread: Bool { !isDraining && !waiting.isEmpty }

  /// Moves what waits into an empty batch. Returns `false` when nothing does, and the draining has ended.
  func takeBatch(_ batch: inout [Value]) -> Bool {
    // Swapped even when nothing waits: the batch of before has memory, which is kept for the next change.
    swap(&waiting, &batch)
    hasSkipped = false
    isDraining = !batch.isEmpty
    return isDraining
  }

  /// Leaves what waits to somebody else. Returns whether anything does.
  func endDraining() -> Bool {
    isDraining = false
    return !waiting.isEmpty
  }

  // MARK: Without the lock

  /// Tells of the batch, and empties it.
  func tell(_ batch: inout [Value]) {
    for value in batch where !isCancelled.load(ordering: .relaxed) { body(value) }
    batch.removeAll(keepingCapacity: true)
  }

  /// Nothing more is told, except what is being told right now.
  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
  }
}

/// Keeps an observation going until it is cancelled or released.
package final class ValueObservation: Sendable {
  private let subscription: SharedSubscription

  init(_ cancel: @escaping @Sendable () -> Void) {
    subscription = SharedSubscription(cancel)
  }

  /// Ends the observation. What is being told on another thread right now still comes; nothing else does.
  package func cancel() {
    subscription.cancel()
  }
}
