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

/// Opens connections to an ``InProcessRedis``.
package struct InProcessConnector: RedisConnector {
  private let server: InProcessRedis
  private let client: String

  /// - Parameter client: What the connections are called in ``InProcessRedis/clients``.
  package init(_ server: InProcessRedis, client: String = "client") {
    self.server = server
    self.client = client
  }

  /// Waits only while the server is paused.
  /// - Throws: What the server was told to refuse connections with; ``RedisSharedStateError/Code/timedOut``
  ///   when it stayed paused until the deadline.
  package func connect(
    purpose: ConnectionPurpose,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> any RedisConnection {
    if let connection = try open(purpose, waker) { return connection }
    defer { stopConnecting(waker) }
    while .now < deadline {
      waker.wait(until: deadline)
      if let connection = try open(purpose, waker) { return connection }
    }
    throw .timedOut(operation: "connect")
  }

  func stopConnecting(_ waker: Waker) { server.perform { $0.stopConnecting(waker) } }

  /// Connects at once; `nil` while the server is paused: the waker is then woken on resume.
  func open(_ purpose: ConnectionPurpose, _ waker: Waker) throws(RedisSharedStateError) -> InProcessConnection? {
    let id = try server.perform { server throws(RedisSharedStateError) in
      try server.connect(name: client, purpose: purpose, waker: waker)
    }
    return id.map { InProcessConnection(server: server, id: $0, waker: waker) }
  }
}
