package import SharedStateRedis

extension RedisConnector {
  /// Opens the only connection of a pass.
  package func connect(
    purpose: ConnectionPurpose,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> any RedisConnection {
    try connect(purpose: purpose, pass: 0, waker: waker, deadline: deadline)
  }
}
