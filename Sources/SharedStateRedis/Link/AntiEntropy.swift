import SharedStateDependencies

/// When each value is compared with the stored one if nothing else reads it before.
///
/// Values that are due at nearly the same time are compared together. Nothing visits a value that is not due: a link may
/// have a hundred thousand of them.
struct AntiEntropy: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  /// How many rounds there are in an interval, at most.
  private static let rounds = 64.0
  /// The random delay of a round, as a fraction of the interval: services that were started together must not stay in
  /// step forever.
  private static let jitter = 0.0625..<0.125

  private var timer = TimerQueue<ReplicaID>()
  /// The earliest moment of the next round, and its delay; `nil`: the first one, which finds nothing due, is to come.
  private var pause: (until: Instant, jitter: Duration)?

  /// How many entries it takes up.
  var count: Int { timer.count }

  /// When the next round begins.
  var next: Instant? {
    guard let pause else { return .past }
    return timer.next.map { max($0, pause.until) + pause.jitter }
  }

  /// Plans to compare a value, for which nothing is planned.
  ///
  /// - Parameters:
  ///   - count: How many values the link has.
  ///   - overdueAt: When a value has had nothing read for too long; `nil` if its replica has left.
  mutating func plan(_ id: ReplicaID, at moment: Instant, of count: Int, overdueAt: (ReplicaID) -> Instant?) {
    timer.add(id, at: moment, of: count, current: overdueAt)
  }

  /// Takes a value that is due in this round; `nil` if there is none.
  mutating func popDue(now: Instant, overdueAt: (ReplicaID) -> Instant?) -> ReplicaID? {
    timer.popDue(now: now, current: overdueAt)
  }

  /// A round is over.
  mutating func endRound(_ interval: Duration, using random: inout SplitMix64, now: Instant) {
    pause = (now + interval / Self.rounds, interval * Double.random(in: Self.jitter, using: &random))
  }
}
