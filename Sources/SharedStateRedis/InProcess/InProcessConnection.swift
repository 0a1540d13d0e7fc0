/// A connection to an ``InProcessRedis``.
final class InProcessConnection: RedisConnection {
  private let server: InProcessRedis
  private let id: Int
  private let waker: Waker
  let facts: ServerFacts
  /// Nothing arrives in parts.
  let hasHeard = false

  init(server: InProcessRedis, id: Int, waker: Waker) {
    self.server = server
    self.id = id
    self.waker = waker
    facts = server.perform { $0.facts(for: id) }
  }

  deinit {
    close()
  }

  /// The server carries the requests out before this returns, unless it is paused.
  func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
    try server.perform { server throws(RedisSharedStateError) in try server.send(requests, from: id) }
  }

  func receive(until deadline: Instant) throws(RedisSharedStateError) -> [RedisEvent] {
    if hasOutput {
      // Before taking, so that whatever arrives after it wakes again.
      waker.clear()
    } else {
      waker.wait(until: min(deadline, nextExpiry ?? deadline))
    }
    return try server.perform { server throws(RedisSharedStateError) in try server.takeOutput(for: id) }
  }

  /// Whether something has arrived, or the connection is down.
  var hasOutput: Bool { server.perform { $0.hasOutput(for: id) } }

  /// When a key expires, which is noticed in time, as the server's own cycle does.
  var nextExpiry: Instant? { server.perform { $0.untilNextExpiry }.map { Instant.now + $0 } }

  func close() {
    server.perform { $0.close(id) }
  }
}
