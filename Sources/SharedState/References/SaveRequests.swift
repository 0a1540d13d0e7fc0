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
