@testable import SharedStateRedis

extension RedisConnector {
  /// Opens the only connection of a pass, and blocks the calling thread until then.
  func connect(
    purpose: ConnectionPurpose,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> any RedisConnection {
    defer { stopConnecting(waker) }
    while true {
      if let connection = try open(purpose, pass: 0, waker: waker, deadline: deadline) { return connection }
      waker.wait(until: .now < deadline ? deadline : .now + .seconds(60))
    }
  }
}
