package import Foundation
import SharedStateRedis

/// Runs single commands on a server, each on a connection of its own, as `redis-cli` does.
package struct RedisCommandClient: Sendable {
  private let credentials: RedisCredentials?
  private let dialer: any Dialer
  private let endpoint: RedisEndpoint
  private static let deadline: Duration = .seconds(20)

  /// - Parameter url: Of a single server, as for `RedisConfiguration`.
  /// - Throws: `RedisSharedStateError/Code/invalidURL`.
  package init(url: String) throws {
    let configuration = try RedisConfiguration(url: url)
    guard case .fixed(let endpoint) = configuration.location else {
      throw RedisSharedStateError.invalidURL(reason: "it does not lead to a single server")
    }
    self.endpoint = endpoint
    (credentials, dialer) = (configuration.credentials, configuration.makeDialer())
  }

  /// Runs one command, and returns the answer of the server, which may be an error.
  ///
  /// - Throws: `RedisSharedStateError` when the server cannot be reached or does not answer in time.
  package func command(_ arguments: [Data]) throws -> RedisServerReply {
    var deadline = Instant.now.advanced(by: Self.deadline)
    let connection = try CommandConnection(to: endpoint, dialer, as: credentials, until: &deadline)
    return try connection.ask(arguments, bound: .largest, until: deadline) { RedisServerReply($0) }
  }
}
