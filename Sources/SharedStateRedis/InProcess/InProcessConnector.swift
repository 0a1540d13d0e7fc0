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
  /// - Throws: What the server was told to refuse connections with; ``RedisSharedStateError/timedOut(operation:)``
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
