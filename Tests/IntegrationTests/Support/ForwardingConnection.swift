@testable import SharedStateRedis

/// A connection that passes everything on. A test overrides the part that it watches or changes.
class ForwardingConnection: RedisConnection {
  let base: any RedisConnection

  init(_ base: any RedisConnection) { self.base = base }

  var facts: ServerFacts { base.facts }
  var interest: Interest { base.interest }
  func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) { try base.send(requests) }
  func receive() -> Arrivals { base.receive() }
  func close() { base.close() }
}

/// Wraps the connections of another connector.
struct WrappingConnector: RedisConnector {
  let base: any RedisConnector
  let wrap: @Sendable (any RedisConnection, ConnectionPurpose) -> any RedisConnection

  func open(
    _ purpose: ConnectionPurpose,
    pass: UInt64,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> (any RedisConnection)? {
    try base.open(purpose, pass: pass, waker: waker, deadline: deadline).map { wrap($0, purpose) }
  }

  func stopConnecting(_ waker: Waker) { base.stopConnecting(waker) }
}
