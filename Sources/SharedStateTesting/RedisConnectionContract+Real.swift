import Foundation
import SharedStateRedis

extension RedisConnectionContract.Server {
  /// A real server as the contract sees it: a connector, and a foreign writer.
  ///
  /// - Throws: `RedisSharedStateError/Code/invalidURL`.
  package init(url: String, namespace: String = "contract:\(UUID().uuidString):") throws {
    let client = try RedisCommandClient(url: url)
    self.init(
      connector: HiredisConnector(configuration: try RedisConfiguration(url: url)),
      namespace: namespace
    ) { arguments in
      switch try client.command(arguments.map { Data($0.utf8) }) {
      case .null: ""
      case .error(let text): text
      case let reply: reply.text ?? ""
      }
    }
  }
}
