/// Finds the server that a pass connects to.
protocol EndpointResolver: Sendable {
  /// Asks where the server is now. Blocks no longer than until the deadline, to which the time of looking up host names
  /// is added.
  /// - Throws: ``RedisSharedStateError``: none of the asked servers knows, or none answers.
  func resolve(until deadline: inout Instant) throws(RedisSharedStateError) -> RedisEndpoint

  /// A connection to the server at this address was opened, or why it was not.
  func tried(_ endpoint: RedisEndpoint, _ failure: RedisSharedStateError?)

  /// Whether the server at this address is still the right one, as far as is known without asking.
  func isCurrent(_ endpoint: RedisEndpoint) -> Bool

  /// Calls back, from any thread, at each event at the server that was found last.
  func onServerEvent(_ callback: @escaping @Sendable (ServerEvent) -> Void)

  func close()
}

extension EndpointResolver {
  typealias Credentials = @Sendable () throws(RedisSharedStateError) -> RedisCredentials?

  func tried(_ endpoint: RedisEndpoint, _ failure: RedisSharedStateError?) {}

  func isCurrent(_ endpoint: RedisEndpoint) -> Bool { true }

  func onServerEvent(_ callback: @escaping @Sendable (ServerEvent) -> Void) {}

  func close() {}
}

/// A server that is always at the same address.
struct FixedEndpoint: EndpointResolver {
  let endpoint: RedisEndpoint

  func resolve(until deadline: inout Instant) -> RedisEndpoint { endpoint }
}

extension RedisConfiguration {
  func makeResolver(_ dialer: any Dialer) -> any EndpointResolver {
    let credentials: SentinelResolver.Credentials = { () throws(RedisSharedStateError) in try currentCredentials() }
    switch location {
    case .fixed(let endpoint):
      return FixedEndpoint(endpoint: endpoint)
    case .sentinel(let sentinels):
      let timing = SentinelResolver.Timing(
        connectTimeout: connectTimeout,
        requestTimeout: requestTimeout,
        keepAlive: keepAliveInterval,
        backoff: backoff
      )
      return SentinelResolver(sentinels, dialer, access, timing, credentials)
    case .cluster(let nodes):
      return ClusterResolver(nodes, namespace: namespace, dialer, credentials)
    }
  }
}
