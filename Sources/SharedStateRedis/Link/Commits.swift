import DequeModule

/// The commits of a link on the present connection: which replica commits next, and how much is under way.
///
/// A commit at which connections may break is a suspect, which is sent alone. The suspects and the other commits take
/// turns, so that neither wait for ever.
struct Commits: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  /// Bounds of the commits without an answer: enough to keep the server busy.
  static let maximumUnderWay = 1_024
  static let maximumBytesUnderWay = 8 << 20
  /// How long the other commits and the suspects may keep each other waiting in turn.
  static let turn = Duration.milliseconds(100)

  private var queue = Deque<ReplicaID>()
  private var suspects = Deque<ReplicaID>()
  /// The suspect that was sent alone and is not answered.
  private(set) var alone: ReplicaID?
  /// When the suspects' turn comes at the latest, and when the first of them was sent in it.
  private var turnAt: Instant?
  private var turnBegan: Instant?
  /// How many commits were sent and not answered.
  private(set) var underWay = 0
  private var bytesUnderWay = 0
  /// The encodings that were handed out. Each one will be a commit under way.
  private var encodings = (count: 0, bytes: 0)

  /// How many replicas wait for their turn.
  var waiting: Int { queue.count + suspects.count }

  /// Whether no commit waits or is under way.
  var isIdle: Bool { waiting == 0 && underWay == 0 }

  /// Whether a replica waits although there may be room for its commit.
  var isWaitingForRoom: Bool { !suspects.isEmpty || !queue.isEmpty && hasRoom }

  /// Whether another commit, or an encoding, may begin.
  private var hasRoom: Bool {
    underWay + encodings.count < Self.maximumUnderWay && bytesUnderWay + encodings.bytes < Self.maximumBytesUnderWay
  }

  mutating func append(_ id: ReplicaID, isSuspect: Bool) {
    if isSuspect { suspects.append(id) } else { queue.append(id) }
  }

  /// Removes and returns the replica that commits next; `nil`: none may for now.
  mutating func popNext(now: Instant) -> ReplicaID? {
    guard alone == nil else { return nil }
    if isTurnOfSuspects(at: now) {
      guard underWay == 0 else { return nil }
      return suspects.popFirst()
    }
    if let id = hasRoom ? queue.popFirst() : nil { return id }
    return queue.isEmpty && underWay == 0 ? suspects.popFirst() : nil
  }

  /// Whether a commit that is ready has to wait: a suspect for those under way, and any other for a suspect.
  func holdsBack(isSuspect: Bool) -> Bool { alone != nil || isSuspect && underWay > 0 }

  /// A commit is sent.
  mutating func begin(_ id: ReplicaID, bytes: Int, isSuspect: Bool, now: Instant) {
    underWay += 1
    bytesUnderWay += bytes
    if isSuspect { (alone, turnBegan) = (id, turnBegan ?? now) }
  }

  /// A commit was answered.
  mutating func end(_ id: ReplicaID, bytes: Int) {
    underWay -= 1
    bytesUnderWay -= bytes
    if alone == id { alone = nil }
  }

  /// An encoding was handed out. The new document is assumed to be as large as the stored one.
  mutating func beginEncoding(bytes: Int) {
    encodings.count += 1
    encodings.bytes += bytes
  }

  mutating func endEncoding(bytes: Int) {
    encodings.count -= 1
    encodings.bytes -= bytes
  }

  /// Whether no other commit is sent, so that the suspects do not wait for ever.
  private mutating func isTurnOfSuspects(at now: Instant) -> Bool {
    guard !suspects.isEmpty else {
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
