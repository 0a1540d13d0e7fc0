/// The forms of some commands that differ between a single server and a cluster.
struct Dialect: Equatable, Sendable {
  /// Whether the server is a node of a cluster.
  let isCluster: Bool
  /// Whether messages stay within the nodes that have the slot of their channel, as clusters can since 7.0.
  var isSharded: Bool

  static let firstShardedVersion = 7

  /// A single server.
  static let single = Dialect(isCluster: false, isSharded: false)

  var subscribe: StaticString { isSharded ? "SSUBSCRIBE" : "SUBSCRIBE" }
  var unsubscribe: StaticString { isSharded ? "SUNSUBSCRIBE" : "UNSUBSCRIBE" }
  var listeners: StaticString { isSharded ? "SHARDNUMSUB" : "NUMSUB" }
}
