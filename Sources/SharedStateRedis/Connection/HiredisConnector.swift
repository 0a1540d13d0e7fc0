/// Opens connections to the server of a configuration.
package struct HiredisConnector: RedisConnector {
  private let configuration: RedisConfiguration
  private let dialer: any Dialer
  private let digests = KnownDigests()

  /// Makes a connector; it connects only when asked.
  package init(configuration: RedisConfiguration) {
    self.configuration = configuration
    dialer = configuration.makeDialer()
  }

  package func connect(
    purpose: ConnectionPurpose,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> any RedisConnection {
    // The waker is not watched here, and so keeps a wake-up for the first wait on the connection: a wake-up does not say
    // whether it is about stopping or about ordinary work, and ordinary work must not end an attempt. Its descriptor is
    // made now, so that a lack of descriptors is noticed before the handshake, not after it.
    _ = try waker.descriptor
    let start = Instant.now
    let credentials = try configuration.currentCredentials()
    let stream = RedisStream(transport: try dialer.dial(until: deadline))
    let handshake = try shakeHands(over: stream, purpose, as: credentials, until: deadline)
    var facts = handshake.facts
    facts.opening = .now - start
    if purpose == .writer { digests.value = handshake.digests }
    return HiredisConnection(
      stream: stream,
      purpose: purpose,
      user: credentials?.user ?? "default",
      digests: handshake.digests,
      facts: facts
    )
  }

  /// Sends the commands of the handshake, and handles all replies.
  ///
  /// - Throws: The errors of ``connect(purpose:waker:deadline:)``.
  package func shakeHands(
    over stream: RedisStream,
    _ purpose: ConnectionPurpose,
    as credentials: RedisCredentials?,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> Handshake {
    var handshake = Handshake(
      configuration: configuration,
      credentials: credentials,
      purpose: purpose,
      digests: digests.value,
      formatter: stream.formatter
    )
    stream.bound = handshake.bound
    let handle: RedisStream.Handler = { (reply) throws(RedisSharedStateError) in
      try handshake.handle(reply)
      stream.bound = handshake.bound
    }
    while !handshake.isDone {
      // The deadline is checked even when data arrives: a server that keeps sending must not extend it.
      guard Instant.now < deadline, try receive(from: stream, until: deadline, handle) else {
        throw .timedOut(operation: "the handshake")
      }
    }
    return handshake
  }

  private func receive(
    from stream: RedisStream,
    until deadline: Instant,
    _ handle: RedisStream.Handler
  ) throws(RedisSharedStateError) -> Bool {
    do throws(RedisSharedStateError) {
      return try stream.receive(until: deadline, handle)
    } catch {
      guard
        case .disconnected(let reason) = error.cause,
        configuration.tls == nil,
        stream.receivedBytes == 0
      else { throw error }
      // A server that expects TLS closes the connection without an answer.
      throw .disconnected(reason: "\(reason), before any answer; a server that expects TLS does that")
    }
  }
}

extension RedisConfiguration {
  /// The user and the password for the next connection.
  /// - Throws: ``RedisSharedStateError/Code/unreachable``: the provider has failed.
  package func currentCredentials() throws(RedisSharedStateError) -> RedisCredentials? {
    guard let credentialsProvider else { return credentials }
    do {
      return try credentialsProvider()
    } catch let error as RedisSharedStateError {
      throw error
    } catch {
      throw .unreachable(
        reason: "the provider of the credentials has failed with an error of the type \(type(of: error))"
      )
    }
  }

  /// Makes what opens the transports of every connection to the server.
  package func makeDialer() -> any Dialer {
    let socket = SocketDialer(
      endpoint: endpoint,
      keepAlive: keepAliveInterval,
      acknowledgementTimeout: keepAliveInterval + requestTimeout
    )
    #if TLS
      if case .tcp(let host, _) = endpoint, let tls { return TLSDialer(over: socket, tls, host: host) }
    #endif
    return socket
  }
}
