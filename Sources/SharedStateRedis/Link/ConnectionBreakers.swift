/// The requests at which connections break, kept from harming all others.
///
/// A server or a proxy may end the connection whenever it receives, or sends, one certain value. A service that sent
/// all requests again immediately would never get past that value. So a commit that was under way at two breaks in a
/// row is sent alone, after all others, and a document that was read at one is read while nothing else is under way. If
/// the connection breaks at it repeatedly, it is the cause: that is reported, and it is sent again after growing
/// pauses. If it is answered, it was most likely under way by chance.
struct ConnectionBreakers: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  enum Kind: Equatable, CaseIterable, Sendable {
    case commit, read

    /// The error of a value at whose requests the connection breaks.
    var error: RedisSharedStateError {
      switch self {
      case .commit: .protocolViolation(reason: "it closes the connection each time this change is sent")
      case .read: .protocolViolation(reason: "it closes the connection each time this value is read")
      }
    }
  }

  private struct Key: Hashable {
    let id: ReplicaID
    let kind: Kind
  }

  /// The number of breaks in a row after which a request is sent alone.
  private static let suspectAfter: [Kind: Int] = [.commit: 2, .read: 1]
  /// The number of breaks in a row after which a request that was alone is the cause. An operator who restarts a server
  /// twice does not make it one.
  static let culpritAfter = 4

  /// At how many breaks in a row each request was under way.
  private var counts: [Key: Int] = [:]
  /// The requests at which the last connections broke, and that have had no answer since.
  private var owed: Set<Key> = []
  /// The run of the server on which the last of the reads broke; `nil` if it does not reveal it.
  private var runID: String?

  /// Whether there is no suspect, and no request to watch.
  var isEmpty: Bool { counts.isEmpty }
  /// Whether every owed answer has arrived. A request that is pausing does not count.
  var isDone: Bool { owed.isEmpty }

  func isSuspect(_ id: ReplicaID, _ kind: Kind) -> Bool {
    !counts.isEmpty && (counts[Key(id: id, kind: kind)] ?? 0) >= (Self.suspectAfter[kind] ?? 0)
  }

  /// The connection broke while these requests were under way.
  ///
  /// - Parameter isAlone: Whether nothing else was.
  /// - Returns: The value whose request is the cause, if that is known.
  mutating func broke(at ids: [ReplicaID], _ kind: Kind, isAlone: Bool = true, runID: String?) -> ReplicaID? {
    let keys = ids.map { Key(id: $0, kind: kind) }
    for key in keys { counts[key, default: 0] += 1 }
    owed.formUnion(keys)
    if kind == .read, !ids.isEmpty { self.runID = runID }
    guard isAlone, keys.count == 1, let key = keys.first, (counts[key] ?? 0) >= Self.culpritAfter else { return nil }
    owed.remove(key)
    return key.id
  }

  /// Acquits the values that were read when another run of the server ended.
  mutating func acquitReads(runID: String?) {
    guard runID != self.runID else { return }
    for key in owed where key.kind == .read { forget(key.id, .read) }
  }

  /// A request was answered, or is not made any more.
  mutating func forget(_ id: ReplicaID, _ kind: Kind) {
    guard !counts.isEmpty else { return }
    counts[Key(id: id, kind: kind)] = nil
    owed.remove(Key(id: id, kind: kind))
  }
}
