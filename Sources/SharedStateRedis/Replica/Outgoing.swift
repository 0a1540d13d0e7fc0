/// What is on its way to the server: an encoding, or a commit. There is never more than one.
enum Outgoing: Sendable {
  /// An encoding that was handed out.
  struct Encoding: Sendable {
    let work: Replica.Encoding
    /// The waiters for the snapshot. A later waiter may have changed the value since.
    var waiters: Waiters
    /// The updates whose callers have stopped waiting since the encoding began.
    var forgotten: Set<UInt64> = []
    /// Whether a closure of the program that was using the value has ended since the encoding began.
    var isUnlocked = false

    init(_ work: Replica.Encoding, _ waiters: Waiters) {
      (self.work, self.waiters) = (work, waiters)
    }
  }

  case nothing
  case encoding(Encoding)
  case commit(Replica.OutstandingCommit)

  /// The encoding, which ends when this is set to `nil`.
  var encoding: Encoding? {
    get { if case .encoding(let encoding) = self { encoding } else { nil } }
    // In place, so that the sets of waiters are not copied with each of thousands of waiters.
    _modify {
      var taken = encoding
      if taken != nil { self = .nothing }
      yield &taken
      if let taken { self = .encoding(taken) }
    }
  }

  /// The commit that the server has not answered yet. It ends when this is set to `nil`.
  var commit: Replica.OutstandingCommit? {
    get { if case .commit(let commit) = self { commit } else { nil } }
    _modify {
      var taken = commit
      if taken != nil { self = .nothing }
      yield &taken
      if let taken { self = .commit(taken) }
    }
  }
}
