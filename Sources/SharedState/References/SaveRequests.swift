/// Those on whose behalf a value is handed to a key.
struct SaveRequests {
  /// Whether there was a mutation.
  var areOfMutation = false

  /// The calls of `save()`.
  var waiters: [CancellableContinuation<Void>] = []

  var context: SaveContext { waiters.isEmpty ? .didSet : .userInitiated }

  /// Whether nobody is interested any more.
  var areWithdrawn: Bool { !areOfMutation && !waiters.contains(where: \.isWaiting) }
}
