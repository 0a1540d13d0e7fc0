/// How a writer gets its turn at a value that others change more often than it can commit.
///
/// Commits are optimistic, so the writer with the longest way to the server loses against those that are nearer. One
/// that has lost several times in a row asks, with its next commit, for a reservation: if that commit conflicts as well,
/// the commits of the others are held until the writer has committed on top of what the conflict has brought. It asks
/// with one of ten of its commits at most, so that far and near writers take turns. It is this value that keeps to that:
/// a client that may write can do worse than reserve.
struct Turns: Sendable {
  /// After how many conflicts in a row the writer asks for a reservation.
  static let lossesBeforeReservation = 3
  /// Of how many commits one asks for a reservation at most.
  static let commitsForReservation = 10
  /// The shortest reservation, in milliseconds: time for a writer that is near, but busy.
  static let shortest: UInt64 = 20

  /// How many commits have conflicted in a row.
  private(set) var losses = 0
  /// How many commits were answered since the last reservation.
  private var commitsSince = Turns.commitsForReservation
  /// How long a commit takes: its round trip, and making it again after a conflict.
  private var attempt = Duration.zero
  /// Whether the commit under way asks for a reservation.
  private var isAsking = false
  /// The version that was known when it was sent.
  private var sentOver = Revision.none
  /// When a commit had no effect last; `nil`: the last one took effect.
  private var turnedAwayAt: Instant?
  /// When the last commit conflicted; `nil`: it did not.
  private var conflictedAt: Instant?
  /// The version that was known when a commit was sent that was held; `nil`: none is, as far as is known.
  private var heldAt: Revision?

  /// A commit is sent.
  ///
  /// - Parameters:
  ///   - isRepeated: Whether it is made again, on top of what a conflict brings, and not given up.
  ///   - known: The confirmed version.
  /// - Returns: The reservation to ask for, in milliseconds, which the script bounds; 0: none.
  mutating func send(isRepeated: Bool, over known: Revision) -> UInt64 {
    (heldAt, sentOver) = (nil, known)
    isAsking =
      isRepeated && losses >= Self.lossesBeforeReservation && commitsSince + 1 >= Self.commitsForReservation
    return isAsking ? UInt64(max(attempt * 2 / .milliseconds(1), Double(Self.shortest))) : 0
  }

  /// A commit was answered.
  mutating func answered(_ reply: CommitReply, after roundTrip: Duration, now: Instant) {
    // The program may have paused between a conflict and its next change.
    let longest = Duration.milliseconds(CommitScript.longestReservationInMilliseconds)
    attempt = conflictedAt.map { max(roundTrip, min(now - $0, longest)) } ?? max(roundTrip, attempt)
    conflictedAt = nil
    commitsSince += 1
    switch reply {
    case .committed, .wrongType:
      (losses, attempt) = (0, roundTrip)
      turnedAwayAt = nil
    case .conflict:
      losses += 1
      if isAsking { commitsSince = 0 }
      (turnedAwayAt, conflictedAt) = (now, now)
    case .held:
      heldAt = sentOver
      turnedAwayAt = now
    }
  }

  /// The connection is lost, or a commit was refused: the time until the next answer is not that of an attempt.
  mutating func interrupted() { conflictedAt = nil }

  /// Whether a newer version ends the wait for the holder of a reservation: it is most likely the holder's.
  mutating func endHold(at confirmed: Revision) -> Bool {
    guard let heldAt, confirmed > heldAt else { return false }
    self.heldAt = nil
    return true
  }

  /// Whether the server has answered the last commits, and none of them took effect.
  func isTurnedAway(now: Instant) -> Bool {
    turnedAwayAt.map { now < $0 + (attempt + LinkState.Patience.memory) * 2 } ?? false
  }
}
