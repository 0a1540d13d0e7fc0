import DequeModule

/// The commits of a link on the present connection: the replicas that wait for their turn, and how much is under way.
struct Commits: Sendable {
  /// Bounds of the commits without an answer: enough to keep the server busy.
  static let maximumUnderWay = 1_024
  static let maximumBytesUnderWay = 8 << 20

  private(set) var queue = Deque<LinkState.ReplicaID>()
  /// How many commits were sent and not answered.
  private(set) var underWay = 0
  private var bytesUnderWay = 0
  /// The encodings that were handed out. Each one will be a commit under way.
  private var encodings = (count: 0, bytes: 0)

  /// Whether a replica waits for its turn.
  var isWaiting: Bool { queue.first != nil }

  /// Whether no commit waits or is under way.
  var isIdle: Bool { !isWaiting && underWay == 0 }

  /// Whether a replica waits although there is room for its commit.
  var isWaitingForRoom: Bool { isWaiting && hasRoom }

  /// Whether another commit, or an encoding, may begin.
  var hasRoom: Bool {
    underWay + encodings.count < Self.maximumUnderWay && bytesUnderWay + encodings.bytes < Self.maximumBytesUnderWay
  }

  mutating func append(_ id: LinkState.ReplicaID) {
    queue.append(id)
  }

  /// Removes and returns the replica whose turn it is, if there is room for its commit.
  mutating func popFirst() -> LinkState.ReplicaID? { hasRoom ? queue.popFirst() : nil }

  /// A commit is sent.
  mutating func begin(bytes: Int) {
    underWay += 1
    bytesUnderWay += bytes
  }

  /// A commit was answered.
  mutating func end(bytes: Int) {
    underWay -= 1
    bytesUnderWay -= bytes
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
}
