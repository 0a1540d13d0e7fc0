import DequeModule

/// The order of the commits at which connections may break, on the present connection.
struct Suspects: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  /// How long the other commits and the suspects may keep each other waiting in turn.
  static let turn = Duration.milliseconds(100)

  var queue = Deque<ReplicaID>()
  /// The suspect that was sent alone and is not answered.
  private(set) var alone: ReplicaID?
  /// When the suspects' turn comes at the latest, and when the first of them was sent in it.
  private var turnAt: Instant?
  private var turnBegan: Instant?

  /// A suspect was sent.
  mutating func sent(_ id: ReplicaID, now: Instant) {
    alone = id
    turnBegan = turnBegan ?? now
  }

  mutating func answered(_ id: ReplicaID) { if alone == id { alone = nil } }

  /// Whether it is the suspects' turn, in which no other commit is sent. Turns alternate, so that suspects do not wait
  /// forever.
  mutating func isTurn(at now: Instant) -> Bool {
    guard queue.first != nil else {
      (turnAt, turnBegan) = (nil, nil)
      return false
    }
    guard let at = turnAt, turnBegan.map({ now < max(at, $0) + Self.turn }) ?? true else {
      (turnAt, turnBegan) = (now + Self.turn, nil)
      return false
    }
    return at <= now
  }
}
