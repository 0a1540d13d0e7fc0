/// Decides which thread hands values to a key, so that saves keep the order of the mutations and none is forgotten.
struct SaveOrder {
  /// Whether a thread or task is handing values to the key.
  private(set) var isDraining = false
  private var isRequested = false
  /// How many saves have begun.
  private(set) var begun: UInt64 = 0
  private var newestOutcome: UInt64 = 0

  /// Requests a save. Returns whether the caller becomes the drainer.
  mutating func request() -> Bool {
    isRequested = true
    guard !isDraining else { return false }
    isDraining = true
    return true
  }

  /// Called when the drainer is about to take the newest value. Returns the number of this save.
  mutating func begin() -> UInt64 {
    isRequested = false
    begun += 1
    return begun
  }

  /// Called when the drainer has handed the value over. Returns whether it has to continue.
  mutating func finishRound() -> Bool {
    isDraining = isRequested
    return isDraining
  }

  /// Whether this outcome is newer than those before it; outcomes may come in any order.
  mutating func isNewestOutcome(_ number: UInt64) -> Bool {
    guard number > newestOutcome else { return false }
    newestOutcome = number
    return true
  }
}

/// The reasons for one save.
struct SaveRequests {
  /// Whether there was a mutation.
  var areOfMutation = false

  /// The calls of `save()` that wait for it.
  var waiters: [CancellableContinuation<Void>] = []

  /// Whether one of them replaces a stored document that cannot be read.
  var replacesUnreadable = false

  var context: SaveContext {
    if waiters.isEmpty { .didSet } else { replacesUnreadable ? .replacingUnreadable : .userInitiated }
  }

  /// Whether the save is no longer needed: no mutation and no waiting call needs it.
  var areWithdrawn: Bool { !areOfMutation && !waiters.contains(where: \.isWaiting) }
}
