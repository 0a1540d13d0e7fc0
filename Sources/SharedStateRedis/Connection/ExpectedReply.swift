/// A reply, or a confirmation, that is still to come, and what it belongs to.
enum ExpectedReply {
  case pong(id: UInt64)
  case role(id: UInt64)
  /// A part of the server's vitals; with an ID the last part, behind which they are complete.
  case information(VitalsParser.Section, completes: UInt64? = nil)
  /// What the user may access, behind a request that was refused because of a key.
  case rights(id: UInt64, RedisSharedStateError)
  case secret(id: UInt64)
  case tracking(id: UInt64)
  /// Tracking of requested keys only, which requires one more permission: that reply comes next.
  case selectiveTracking
  case rightToTrackNext(id: UInt64)
  /// Values are tracked from now on.
  case trackedAgain(id: UInt64)
  /// A reply that contains nothing new.
  case ignored
  /// A document of at most so many bytes.
  case document(id: UInt64, maximumBytes: Int)
  case values(PendingRead)
  /// The parts of summaries, in this order: each length, all metas, and all numbers of listeners if they are requested.
  case length(PendingSummaries)
  case metas(PendingSummaries)
  case listeners(PendingSummaries)
  /// How many keys of a read exist for which MGET returned nothing.
  case existing(PendingRead, indices: [Int])
  /// The type of one key of a read.
  case type(PendingRead, index: Int)
  /// One key of a read that is read again.
  case value(PendingRead, index: Int)
  /// The SET of a large document, before its commit.
  case staging
  /// A commit, by its index in its batch, because a commit is too large to be copied needlessly.
  case commit(batch: [RedisRequest], index: Int, attempt: ScriptAttempt)
  /// Restores, by their indices.
  case restores(batch: [RedisRequest], indices: Range<Int>, attempt: ScriptAttempt)
  /// The SET of a mark.
  case mark
  case acknowledgements(id: UInt64, RedisReplicas)
  case confirmations(id: UInt64, isSubscription: Bool, channels: [String], missing: Int)

  /// The upper bound of the reply.
  var bound: ReplyBound {
    switch self {
    case .pong, .tracking, .selectiveTracking, .rightToTrackNext, .ignored, .trackedAgain, .existing, .type,
      .staging, .mark, .length:
      .word
    case .role: .role
    case .information: .information
    case .acknowledgements: .acknowledgements
    case .rights: .user
    // It may have been replaced by hand.
    case .secret: .values(of: 1)
    case .document(_, let maximumBytes): .document(bytes: maximumBytes)
    case .values(let read), .value(let read, _): read.bound
    case .metas(let pending), .listeners(let pending): .metas(of: pending.keys.count)
    case .commit(let batch, let index, _): batch[index].bound ?? .commits(1)
    case .restores(let batch, let indices, _): batch[indices.lowerBound].bound ?? .commits(indices.count)
    case .confirmations: .push
    }
  }
}

/// How a script was tried, and how often.
struct ScriptAttempt {
  /// Whether the script's source was sent, so that the server knows the script once it has answered.
  var isBySource = false
  /// How often the server did not know the script.
  var unknownScripts = 0
  /// How often the staged document was missing.
  var lostStagings = 0

  /// Limits the attempts with a server that loses every staged document immediately.
  static let maximumLostStagings = 3
}
