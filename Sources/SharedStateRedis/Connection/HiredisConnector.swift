import SharedStateDependencies
import Synchronization

/// Opens connections to the server of a configuration: each on a thread of its own, because looking up names, asking
/// Sentinels and shaking hands wait, and because the program's providers of credentials may block.
final class HiredisConnector: RedisConnector {
  /// An attempt to open a connection.
  private enum Attempt {
    case underWay
    case ended(Result<OpenConnection, RedisSharedStateError>)
    /// Its result is not wanted any more, but its thread has not ended.
    case abandoned
    case endedAbandoned
  }

  private let configuration: RedisConfiguration
  private let dialer: any Dialer
  private let resolver: any EndpointResolver
  private let digests = KnownDigests()
  /// Where the connections of the present pass lead.
  private let route = Mutex<(pass: UInt64, endpoint: RedisEndpoint)?>(nil)
  private let traffic: Traffic?
  private let threads: ThreadStarter
  /// By waker, one at a time.
  private let attempts = Mutex<[ObjectIdentifier: Attempt]>([:])

  /// How long an attempt to connect continues after another server has taken over.
  private static let glance = Duration.milliseconds(100)

  /// Makes a connector; it connects only when asked.
  ///
  /// - Parameter traffic: Counts the bytes of all connections.
  init(configuration: RedisConfiguration, traffic: Traffic? = nil, threads: ThreadStarter = .system) {
    (self.configuration, self.traffic, self.threads) = (configuration, traffic, threads)
    dialer = configuration.makeDialer()
    resolver = configuration.makeResolver(dialer)
  }

  func onServerEvent(_ callback: @escaping @Sendable (ServerEvent) -> Void) {
    resolver.onServerEvent(callback)
  }

  func close() { resolver.close() }

  var endpoint: RedisEndpoint? { route.withLock { $0?.endpoint } }

  func open(
    _ purpose: ConnectionPurpose,
    pass: UInt64,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> (any RedisConnection)? {
    // Made on the thread that waits for it, and now, so that a lack of descriptors is noticed before the handshake.
    _ = try waker.descriptor
    let id = ObjectIdentifier(waker)
    var deadline = deadline
    let (isFirst, result) = attempts.withLock { attempts in
      switch attempts[id] {
      case .underWay, .abandoned: return (false, Result<OpenConnection, RedisSharedStateError>?.none)
      case .ended(let result):
        attempts[id] = nil
        return (false, result)
      // The wait for the end of the abandoned attempt does not count.
      case .endedAbandoned: deadline = max(deadline, .now + configuration.connectTimeout)
      case nil: break
      }
      attempts[id] = .underWay
      return (true, nil)
    }
    guard isFirst else { return try result?.get().connection }
    do throws(ThreadStarter.Refusal) {
      // The providers of credentials are user code.
      try threads.start("redis-connect", stackSize: CoderStack.size) { [self, deadline] in
        let result = Result { () throws(RedisSharedStateError) in
          OpenConnection(connection: try connect(purpose, pass: pass, deadline: deadline))
        }
        // An abandoned connection is closed by its release, after the lock.
        attempts.withLock { attempts in
          if case .underWay = attempts[id] { attempts[id] = .ended(result) } else { attempts[id] = .endedAbandoned }
        }
        waker.wake()
      }
    } catch {
      attempts.withLock { $0[id] = nil }
      throw .outOfThreads(reason: error.reason)
    }
    return nil
  }

  func stopConnecting(_ waker: Waker) {
    let id = ObjectIdentifier(waker)
    // A result is released after the lock.
    let abandoned = attempts.withLock { attempts in
      let attempt = attempts[id]
      switch attempt {
      case .underWay: attempts[id] = .abandoned
      case .ended: attempts[id] = nil
      case .abandoned, .endedAbandoned, nil: break
      }
      return attempt
    }
    withExtendedLifetime(abandoned) {}
  }

  /// Opens a connection, on the present thread.
  private func connect(
    _ purpose: ConnectionPurpose,
    pass: UInt64,
    deadline: Instant
  ) throws(RedisSharedStateError) -> any RedisConnection {
    let start = Instant.now
    let credentials = try configuration.currentCredentials()
    // The time of a provider does not count: the server is not to blame for it.
    var deadline = deadline + (Instant.now - start)
    let endpoint = try endpoint(of: pass, until: &deadline)
    do throws(RedisSharedStateError) {
      let connection = try open(endpoint, purpose, as: credentials, until: deadline)
      resolver.tried(endpoint, nil)
      return connection
    } catch {
      resolver.tried(endpoint, error)
      throw error
    }
  }

  private func open(
    _ endpoint: RedisEndpoint,
    _ purpose: ConnectionPurpose,
    as credentials: RedisCredentials?,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> HiredisConnection {
    var deadline = deadline
    let (dialed, deadlineThen) = (Instant.now, deadline)
    let stream = RedisStream(transport: try dialer.dial(endpoint, until: &deadline), traffic: traffic)
    let lookUp = deadline - deadlineThen
    let account = RedisSharedStateError.Account(user: credentials?.user ?? "default", server: "\(endpoint)")
    let handshake: Handshake
    do throws(RedisSharedStateError) {
      handshake = try shakeHands(over: stream, purpose, as: credentials, until: deadline) { [resolver] in
        resolver.isCurrent(endpoint)
      }
    } catch {
      throw error.denied(to: account)
    }
    var facts = handshake.facts
    facts.opening = .now - dialed - lookUp
    facts.certificates = stream.transport.certificates
    if purpose == .writer { digests.value = handshake.digests }
    return HiredisConnection(
      stream: stream,
      purpose: purpose,
      account: account,
      access: configuration.access,
      digests: handshake.digests,
      dialect: handshake.dialect,
      facts: facts
    )
  }

  /// Where a pass leads. Asked once for each, so that both connections lead to one server.
  private func endpoint(of pass: UInt64, until deadline: inout Instant) throws(RedisSharedStateError) -> RedisEndpoint {
    if let route = route.withLock({ $0 }), route.pass == pass, pass > 0 { return route.endpoint }
    // The rest of the time is for the connection.
    let endpoint = try deadline.share(of: 2) { (end) throws(RedisSharedStateError) in
      try resolver.resolve(until: &end)
    }.result
    route.withLock { $0 = (pass, endpoint) }
    return endpoint
  }

  /// Sends the commands of the handshake, and handles all replies.
  ///
  /// - Parameter isWanted: Whether the server is still the right one. Asked now and then.
  /// - Throws: The errors of ``open(_:pass:waker:deadline:)``.
  func shakeHands(
    over stream: RedisStream,
    _ purpose: ConnectionPurpose,
    as credentials: RedisCredentials?,
    until deadline: Instant,
    whileWanted isWanted: () -> Bool = { true }
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
      guard Instant.now < deadline else { throw .timedOut(operation: "the handshake") }
      guard isWanted() else { throw .moved }
      _ = try receive(from: stream, until: min(deadline, .now + Self.glance), handle)
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
  func currentCredentials() throws(RedisSharedStateError) -> RedisCredentials? {
    guard let credentialsProvider else { return credentials }
    do {
      return try credentialsProvider()
    } catch let error as RedisSharedStateError {
      throw error
    } catch {
      throw .unreachable(
        reason: "the credentials provider failed with an error of type \(type(of: error))"
      )
    }
  }

  /// Makes the dialer that opens the transport of every connection.
  package func makeDialer() -> any Dialer {
    let socket = SocketDialer(
      keepAlive: keepAliveInterval,
      acknowledgementTimeout: keepAliveInterval + requestTimeout
    )
    #if TLS
      if let tls { return TLSDialer(over: socket, tls) }
    #endif
    return socket
  }
}
