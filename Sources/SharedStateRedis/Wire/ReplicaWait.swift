/// A question: have so many replicas everything that this connection has written?
struct ReplicaWait: Hashable, Sendable {
  /// How long the server waits for the replicas. It may take longer: it looks at its clock ten times a second.
  static let timeout = Duration.milliseconds(20)

  let replicas: RedisReplicas
  /// The key of a short-lived mark that is written first; `nil`: this connection has written after the changes.
  var mark: String?

  init(_ replicas: RedisReplicas, mark: String? = nil) {
    (self.replicas, self.mark) = (replicas, mark)
  }
}

/// Why a change does not count as saved although the server has acknowledged it.
enum ReplicaShortage: Hashable, Sendable {
  /// So many replicas have it.
  case acknowledged(Int)
  /// The server has not written it to its own disk.
  case notOnOwnDisk
  /// The server has not answered.
  case unknown
  /// The server cannot be asked, for this reason.
  case refused(String)
  /// No Redis key keeps the value.
  case notInRedis
}
