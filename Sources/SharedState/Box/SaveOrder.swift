/// Decides which thread hands values to a key, so that saves keep the order of the mutations and none is forgotten.
struct SaveOrder {
  /// Whether somebody is handing values to the key.
  private(set) var isDraining = false
  private var isRequested = false
  /// How many saves were begun.
  private(set) var begun: UInt64 = 0
  private var newestOutcome: UInt64 = 0

  /// Something has to be saved. Returns whether the caller becomes the one who drains.
  mutating func request() -> Bool {
    isRequested = true
    guard !isDraining else { return false }
    isDraining = true
    return true
  }

  /// The drainer is about to take the newest value. Returns the number of this save.
  mutating func begin() -> UInt64 {
    isRequested = false
    begun += 1
    return begun
  }

  /// The drainer has handed the value over. Returns whether it has to go on.
  mutating func finishRound() -> Bool {
    isDraining = isRequested
    return isDraining
  }

  /// Whether this outcome is newer than those before it; they may come in any order.
  mutating func isNewestOutcome(_ number: UInt64) -> Bool {
    guard number > newestOutcome else { return false }
    newestOutcome = number
    return true
  }
}

/// Those on whose behalf a value is handed to a key.
struct SaveRequests {
  /// Whether there was a mutation.
  var areOfMutation = false

  /// The calls of `save()`.
  var waiters: [CancellableContinuation<Void>] = []

  /// Whether one of them replaces what cannot be read.
  var replacesUnreadable = false

  var context: SaveContext {
    if waiters.isEmpty { .didSet } else { replacesUnreadable ? .replacingUnreadable : .userInitiated }
  }

  /// Whether nobody is interested any more.
  var areWithdrawn: Bool { !areOfMutation && !waiters.contains(where: \.isWaiting) }
}
