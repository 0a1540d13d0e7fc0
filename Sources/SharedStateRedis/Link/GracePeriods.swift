/// Replicas that wait for other services that may know better.
struct GracePeriods: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  /// How long other services most likely take to look at a value.
  private static let moment = Duration.seconds(1)

  /// Requested periods that have not begun yet.
  private var requested: [(Grace, ReplicaID)] = []
  private var moments = Queue<(endsAt: Instant, ReplicaID)>()
  private var intervals = Queue<(endsAt: Instant, ReplicaID)>()

  /// When the next one ends.
  var nextEnd: Instant? { [moments.first?.endsAt, intervals.first?.endsAt].compactMap(\.self).min() }

  var isEmpty: Bool { requested.isEmpty && nextEnd == nil }

  mutating func request(_ grace: Grace, for id: ReplicaID) { requested.append((grace, id)) }

  /// Begins the requested ones.
  mutating func begin(antiEntropy: Duration, now: Instant) {
    for (grace, id) in requested {
      switch grace {
      case .moment: moments.append((now + Self.moment, id))
      case .antiEntropy: intervals.append((now + antiEntropy, id))
      }
    }
    requested = []
  }

  /// Takes one that has ended; `nil` if there is none.
  mutating func popEnded(now: Instant) -> (Grace, ReplicaID)? {
    if let (endsAt, id) = moments.first, endsAt <= now {
      _ = moments.popFirst()
      return (.moment, id)
    }
    if let (endsAt, id) = intervals.first, endsAt <= now {
      _ = intervals.popFirst()
      return (.antiEntropy, id)
    }
    return nil
  }
}
