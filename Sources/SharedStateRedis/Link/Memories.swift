import DequeModule

/// The documents that the memories of all replicas of a link hold together.
struct Memories: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  static let maximumBytes = 16 << 20

  private(set) var bytes = 0
  /// The replicas in the order of their remembered documents, the oldest first: one entry for each document, and the
  /// surplus.
  private var order = Deque<ReplicaID>()
  /// How many entries of a replica have no document any more. The first ones count as these.
  private var surplus: [ReplicaID: Int] = [:]
  private var allSurplus = 0

  /// A replica remembers more than before, or has thinned out what it remembers.
  mutating func add(_ growth: Memory.Growth, of id: ReplicaID) {
    bytes += growth.bytes
    for _ in 0..<max(0, growth.entries) { order.append(id) }
    if growth.entries < 0 { discard(-growth.entries, of: id) }
  }

  /// Takes the replica that has to forget its oldest document; `nil` if there is room for all.
  mutating func popExcess() -> ReplicaID? {
    guard bytes > Self.maximumBytes else { return nil }
    while let id = order.popFirst() { if !takeSurplus(of: id) { return id } }
    return nil
  }

  /// A replica has forgotten its oldest document.
  mutating func forget(bytes forgotten: Int) { bytes -= forgotten }

  /// A replica is gone, and its memory with it.
  mutating func forget(_ memory: Memory, of id: ReplicaID) {
    bytes -= memory.bytes
    discard(memory.entries.count, of: id)
  }

  private mutating func discard(_ entries: Int, of id: ReplicaID) {
    guard entries > 0 else { return }
    surplus[id, default: 0] += entries
    allSurplus += entries
    guard allSurplus > 4_096, 2 * allSurplus > order.count else { return }
    var kept = Deque<ReplicaID>()
    while let id = order.popFirst() { if !takeSurplus(of: id) { kept.append(id) } }
    order = kept
  }

  /// Takes a surplus entry of a replica into account. Returns whether there was one.
  private mutating func takeSurplus(of id: ReplicaID) -> Bool {
    guard let count = surplus[id] else { return false }
    surplus[id] = count > 1 ? count - 1 : nil
    allSurplus -= 1
    return true
  }
}
