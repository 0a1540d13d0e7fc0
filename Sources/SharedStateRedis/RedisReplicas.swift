/// How many replicas of a Redis server have to have a change before it counts as saved.
///
/// ```swift
/// let options = RedisSharedKey<Order>.Options(replicas: 1)
/// try await $order.save(replicas: .onDisk(1))
/// ```
public struct RedisReplicas: Hashable, Sendable, ExpressibleByIntegerLiteral {
  /// The number of replicas.
  public let count: Int
  /// Whether the change also has to be on the disks of the primary and of these replicas.
  public let isOnDisk: Bool

  /// Replicas that have the change in memory; 0: the primary is enough.
  public init(_ count: Int) { self.init(count, isOnDisk: false) }

  /// Replicas that have the change in memory; 0: the primary is enough.
  public init(integerLiteral count: Int) { self.init(count) }

  /// Replicas that have the change on disk, as the primary has; 0: the disk of the primary is enough.
  ///
  /// The servers need an append-only file, and Redis 7.2 or Valkey.
  public static func onDisk(_ count: Int) -> Self { Self(count, isOnDisk: true) }

  private init(_ count: Int, isOnDisk: Bool) {
    precondition(count >= 0, "A number of replicas is 0 or more.")
    (self.count, self.isOnDisk) = (count, isOnDisk)
  }

  /// Whether the acknowledgement of the primary is not enough.
  var isWanted: Bool { count > 0 || isOnDisk }
  /// The command that waits for them.
  var command: String { isOnDisk ? "WAITAOF" : "WAIT" }
}
