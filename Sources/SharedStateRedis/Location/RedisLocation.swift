/// How a store finds its server.
package enum RedisLocation: Equatable, Sendable {
  /// Always at this address.
  case fixed(RedisEndpoint)
  /// Where the Sentinels say that the primary is.
  case sentinel(Sentinels)
  /// Where the nodes of a cluster say that the slot of the namespace is. The nodes to ask first.
  case cluster([RedisEndpoint])

  /// The Sentinels that watch a primary.
  package struct Sentinels: Equatable, Sendable {
    /// At least one.
    package let endpoints: [RedisEndpoint]
    /// The name of the primary in the configuration of the Sentinels.
    package let primary: String
    /// `nil`: the Sentinels require none.
    package let credentials: RedisCredentials?
  }
}

extension RedisLocation {
  /// The only address at which the server can be; `nil`: others say where it is.
  package var endpoint: RedisEndpoint? { if case .fixed(let endpoint) = self { endpoint } else { nil } }

  var isCluster: Bool { if case .cluster = self { true } else { false } }
}

extension RedisLocation: CustomStringConvertible {
  package var description: String {
    switch self {
    case .fixed(let endpoint): "\(endpoint)"
    case .sentinel(let sentinels): "primary '\(sentinels.primary)' of the Sentinels \(Self.list(sentinels.endpoints))"
    case .cluster(let nodes): "cluster of \(Self.list(nodes))"
    }
  }

  private static func list(_ endpoints: [RedisEndpoint]) -> String {
    endpoints.map(\.description).joined(separator: ", ")
  }
}
