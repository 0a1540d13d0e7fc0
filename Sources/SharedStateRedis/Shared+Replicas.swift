public import SharedState

extension Shared where Value: Sendable {
  /// Saves the value, and returns once so many replicas of the Redis server have it.
  ///
  /// It replaces the option ``RedisSharedKey/Options/replicas`` of the value for this call.
  /// - Parameters:
  ///   - replicas: How many replicas, and whether on disk.
  ///   - timeout: The longest time to wait; `nil`, the default: the store's `operationTimeout` of 10 seconds.
  /// - Throws: As `save()`, and ``RedisSharedStateError/Code/notReplicated`` when too few replicas have the value by
  ///   then, or when no Redis key keeps it. The primary has it, and keeps it, in the first case.
  public func save(replicas: RedisReplicas, within timeout: Duration? = nil) async throws {
    try await save { persistence in
      guard let persistence = persistence as? any ReplicatedPersistence else {
        throw RedisSharedStateError.notReplicated(name: nil, replicas: replicas, .notInRedis)
      }
      try await persistence.save(replicas: replicas, within: timeout)
    }
  }
}

/// Keeps a value on a server that may have replicas.
protocol ReplicatedPersistence: RemotePersistence {
  func save(replicas: RedisReplicas, within timeout: Duration?) async throws
}
