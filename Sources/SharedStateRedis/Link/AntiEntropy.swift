import HeapModule
import SharedStateDependencies

/// When each value is compared with the stored one if nothing else reads it before.
///
/// Values that are due at nearly the same time are compared together. Nothing visits a value that is not due: a link may
/// have a hundred thousand of them.
struct AntiEntropy: Sendable {
  private struct Entry: Comparable, Sendable {
    let at: Instant
    let id: LinkState.ReplicaID

    static func < (lhs: Entry, rhs: Entry) -> Bool { (lhs.at, lhs.id) < (rhs.at, rhs.id) }
  }

  /// How many rounds there are in an interval, at most.
  private static let rounds = 64.0
  /// The random delay of a round, as a fraction of the interval: services that were started together must not stay in
  /// step forever.
  private static let jitter = 0.0625..<0.125

  /// One for each value that was read, and those of replicas that have left.
  private var entries = Heap<Entry>()
  /// The earliest moment of the next round, and its delay; `nil`: the first one, which finds nothing due, is to come.
  private var pause: (until: Instant, jitter: Duration)?

  var count: Int { entries.count }

  /// When the next round begins.
  var next: Instant? {
    guard let pause else { return .past }
    return entries.min.map { max($0.at, pause.until) + pause.jitter }
  }

  /// Plans to compare a value, for which nothing is planned.
  mutating func plan(_ id: LinkState.ReplicaID, at moment: Instant) {
    entries.insert(Entry(at: moment, id: id))
  }

  /// Takes a value that is due in this round; `nil` if there is none.
  mutating func popDue(now: Instant) -> LinkState.ReplicaID? {
    guard let entry = entries.min, entry.at <= now else { return nil }
    return entries.removeMin().id
  }

  /// A round is over.
  mutating func endRound(_ interval: Duration, using random: inout SplitMix64, now: Instant) {
    pause = (now + interval / Self.rounds, interval * Double.random(in: Self.jitter, using: &random))
  }

  /// Forgets the values of replicas that have left.
  mutating func keep(where isMember: (LinkState.ReplicaID) -> Bool) {
    entries = Heap(entries.unordered.filter { isMember($0.id) })
  }
}
