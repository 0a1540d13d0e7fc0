/// A connection to an ``InProcessRedis``.
final class InProcessConnection: RedisConnection {
  private let server: InProcessRedis
  private let id: Int
  let facts: ServerFacts

  init(server: InProcessRedis, id: Int) {
    self.server = server
    self.id = id
    facts = server.perform { $0.facts(for: id) }
  }

  deinit {
    close()
  }

  /// The server carries out the requests before this returns, unless it is paused.
  func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
    try server.perform { server throws(RedisSharedStateError) in try server.send(requests, from: id) }
  }

  var interest: Interest { hasOutput ? .arrived : .wakeUp(by: nextExpiry) }

  func receive() -> Arrivals {
    do throws(RedisSharedStateError) {
      let events = try server.perform { server throws(RedisSharedStateError) in try server.takeOutput(for: id) }
      return Arrivals(events: events)
    } catch {
      return Arrivals(failure: error)
    }
  }

  /// Whether output has arrived, or the connection is down.
  var hasOutput: Bool { server.perform { $0.hasOutput(for: id) } }

  /// When the next key expires, so that the expiry is noticed in time, as in a real server's own cycle.
  var nextExpiry: Instant? { server.perform { $0.untilNextExpiry }.map { Instant.now + $0 } }

  func close() {
    server.perform { $0.close(id) }
  }
}

/// Opens connections to an ``InProcessRedis``.
struct InProcessConnector: RedisConnector {
  private let server: InProcessRedis
  private let client: String
  private let access: RedisAccess

  /// - Parameters:
  ///   - client: The name of the connections in ``InProcessRedis/clients``.
  ///   - access: Whether a replica will do.
  init(_ server: InProcessRedis, client: String = "client", access: RedisAccess = .readWrite) {
    (self.server, self.client, self.access) = (server, client, access)
  }

  var isScheduled: Bool { true }

  func stopConnecting(_ waker: Waker) { server.perform { $0.stopConnecting(waker) } }

  /// Connects immediately, unless the server is paused: then it wakes the waker when it resumes.
  /// - Throws: The error with which the server was set to refuse connections; ``RedisSharedStateError/Code/timedOut``
  ///   when it stayed paused until the deadline.
  func open(
    _ purpose: ConnectionPurpose,
    pass: UInt64,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> (any RedisConnection)? {
    let id = try server.perform { server throws(RedisSharedStateError) in
      try server.connect(name: client, purpose: purpose, access: access, waker: waker)
    }
    guard let id else {
      if .now < deadline { return nil }
      throw .timedOut(operation: "connect")
    }
    return InProcessConnection(server: server, id: id)
  }
}
