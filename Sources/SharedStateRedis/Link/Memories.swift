/// The documents that the memories of all replicas of a link hold together.
struct Memories: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  static let maximumBytes = 16 << 20

  private(set) var bytes = 0
  /// The replicas in the order of their remembered documents, the oldest first: one entry for each document.
  private var order = Queue<ReplicaID>()
  /// How many entries belong to replicas that are gone, at most.
  private var departed = 0

  /// A replica remembers more than before.
  mutating func add(_ growth: Memory.Growth, of id: ReplicaID) {
    bytes += growth.bytes
    for _ in 0..<max(0, growth.entries) { order.append(id) }
  }

  /// Takes the replica that has to forget its oldest document; `nil` if there is room for all.
  mutating func popExcess() -> ReplicaID? { bytes > Self.maximumBytes ? order.popFirst() : nil }

  /// A replica has forgotten its oldest document.
  mutating func forget(bytes forgotten: Int) { bytes -= forgotten }

  /// A replica is gone, and its memory with it.
  ///
  /// - Parameter exists: Whether there is a replica with this number.
  mutating func forget(_ memory: Memory, exists: (ReplicaID) -> Bool) {
    bytes -= memory.bytes
    departed += memory.entries.count
    guard departed > 4_096, 2 * departed > order.count else { return }
    var kept = Queue<ReplicaID>()
    while let id = order.popFirst() { if exists(id) { kept.append(id) } }
    (order, departed) = (kept, 0)
  }
}
