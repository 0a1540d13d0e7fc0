package import Foundation
import SharedStateRedis

/// Runs single commands on a server, each on a connection of its own, as `redis-cli` does.
package struct RedisCommandClient: Sendable {
  private let credentials: RedisCredentials?
  private let dialer: any Dialer
  private static let deadline: Duration = .seconds(20)

  /// - Parameter url: As for `RedisConfiguration`.
  /// - Throws: `RedisSharedStateError/Code/invalidURL`.
  package init(url: String) throws {
    let configuration = try RedisConfiguration(url: url)
    (credentials, dialer) = (configuration.credentials, configuration.makeDialer())
  }

  /// Runs one command, and returns the answer of the server, which may be an error.
  ///
  /// - Throws: `RedisSharedStateError` when the server cannot be reached or does not answer in time.
  package func command(_ arguments: [Data]) throws -> RedisServerReply {
    let deadline = Instant.now.advanced(by: Self.deadline)
    let stream = RedisStream(transport: try dialer.dial(until: deadline))
    let commands = [login, arguments].filter { !$0.isEmpty }
    for command in commands {
      stream.formatter.add { encoded in
        for argument in command { argument.withUnsafeBytes { encoded.argument($0) } }
      }
    }
    var replies: [RedisServerReply] = []
    let handle: RedisStream.Handler = { (reply) throws(RedisSharedStateError) in replies.append(.init(reply)) }
    while replies.count < commands.count {
      guard Instant.now < deadline, try stream.receive(until: deadline, handle) else {
        throw RedisSharedStateError.timedOut(operation: "a command of a test")
      }
    }
    return replies[replies.count - 1]
  }

  private var login: [Data] {
    guard let credentials else { return [] }
    return (["AUTH"] + [credentials.user, credentials.password].compactMap { $0 }).map { Data($0.utf8) }
  }
}
