/// What a reply, or a confirmation, that is still to come belongs to.
enum Expectation {
  case pong(id: UInt64)
  case role(id: UInt64)
  /// The server's era, and the count of evictions behind it.
  case era
  case evictions(id: UInt64)
  case tracking(id: UInt64)
  /// The same, of what is asked for only, which takes another right: that comes behind it.
  case selectiveTracking
  case rightToTrackNext(id: UInt64)
  /// The answer tells nothing that is not known already.
  case ignored
  case values(PendingRead)
  /// The parts of summaries, in this order: each length, all metas, all numbers of listeners.
  case length(PendingSummaries)
  case metas(PendingSummaries)
  case listeners(PendingSummaries)
  /// How many of the keys of a read that MGET had nothing for are there.
  case existing(PendingRead, indices: [Int])
  /// The type of one key of a read.
  case type(PendingRead, index: Int)
  /// One key of a read, once more.
  case value(PendingRead, index: Int)
  /// The SET of a large document, in front of its commit.
  case staging
  /// A commit, by its place in the batch that it came in: it is too large to be copied for nothing.
  case commit(batch: [RedisRequest], index: Int, attempt: ScriptAttempt)
  /// Restores, by their places.
  case restores(batch: [RedisRequest], indices: Range<Int>, attempt: ScriptAttempt)
  case confirmations(id: UInt64, isSubscription: Bool, missing: Int)

  /// The most that the reply may be.
  var bound: ReplyBound {
    switch self {
    case .pong, .tracking, .selectiveTracking, .rightToTrackNext, .ignored, .existing, .type, .staging, .length:
      .word
    case .role: .role
    case .era, .evictions: .information
    case .values(let read), .value(let read, _): read.bound
    case .metas(let pending), .listeners(let pending): .metas(of: pending.count)
    case .commit(let batch, let index, _): batch[index].bound ?? .commits(1)
    case .restores(let batch, let indices, _): batch[indices.lowerBound].bound ?? .commits(indices.count)
    case .confirmations: .push
    }
  }
}

/// How often a script was tried, and how.
struct ScriptAttempt {
  /// The script's source was sent with it, so that the server knows the script when it has answered.
  var isBySource = false
  /// How often the server did not know the script.
  var unknownScripts = 0
  /// Whether the server has refused it once.
  var wasRefused = false
  /// How often the staged document was gone.
  var lostStagings = 0

  /// A server that loses every staged document at once would keep a commit going for ever.
  static let maximumLostStagings = 3
}
