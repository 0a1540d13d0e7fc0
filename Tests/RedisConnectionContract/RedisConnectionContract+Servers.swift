import Foundation
@testable import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting

extension InProcessRedis {
  /// The fake, for the contract: a connector, and a foreign writer.
  func contractServer(_ namespace: String = "contract:") -> RedisConnectionContract.Server {
    RedisConnectionContract.Server(connector: InProcessConnector(self), namespace: namespace) { [self] arguments in
      try foreign(arguments)
    }
  }

  /// Runs the few commands of the contract's foreign writer, and formats the answers like `redis-cli`.
  private func foreign(_ arguments: [String]) throws -> String {
    let (command, key, rest) = (arguments[0], arguments[1], arguments.dropFirst(2))
    switch (command, rest.first) {
    case ("GET", nil):
      return get(key) ?? ""
    case ("SET", let text?):
      set(key, text)
      return "OK"
    case ("DEL", _):
      return String(arguments.dropFirst().count { delete($0) })
    case ("EXISTS", nil):
      return type(of: key) == "none" ? "0" : "1"
    case ("TYPE", nil):
      return type(of: key)
    case ("LPUSH", .some):
      set(key, type: "list")
      return "1"
    case ("PEXPIRE", let time?):
      return expire(key, after: .milliseconds(Int(time) ?? 0)) ? "1" : "0"
    case ("PTTL", nil):
      guard type(of: key) != "none" else { return "-2" }
      return timeToLive(of: key).map { String(Int($0 / .milliseconds(1))) } ?? "-1"
    case ("ACL", "default"?):
      let texts = arguments.map { $0.dropFirst().trimmingPrefix("*").prefix { $0 != "*" } }
      let permitted = ["~", "&"].map { sign in
        zip(arguments, texts).first { $0.0.hasPrefix(sign) && !$0.1.isEmpty }.map { String($0.1) }
      }
      permit(keysWith: permitted[0], channelsWith: permitted[1])
      return "OK"
    case ("PUBLISH", let text?):
      return String(publish(key, text))
    default:
      throw UnknownCommand(name: command)
    }
  }

  private struct UnknownCommand: Error {
    let name: String
  }
}

extension RedisConnectionContract.Server {
  /// A real server, for the contract: a connector, and a foreign writer.
  ///
  /// - Throws: `RedisSharedStateError/Code/invalidURL`.
  init(url: String, namespace: String = "contract:\(UUID().uuidString):") throws {
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

extension RedisConnectionContract.Server {
  /// Another service on the same server, which writes through a connection of its own.
  var outsider: SharedKeyContract<RedisSharedKey<Int>>.Outsider {
    @Sendable func commit(_ name: String, _ content: Commit.Content) throws {
      let scene = RedisConnectionContract.Scene(self)
      defer { scene.close() }
      try scene.connect().commit(scene.names(name), content)
    }
    return SharedKeyContract<RedisSharedKey<Int>>.Outsider(
      read: { Int(try foreign(["GET", namespace + $0])) },
      write: { try commit($0, .text("\($1)")) },
      remove: { try commit($0, .deleted) },
      damage: { try commit($0, .text("\"no number\"")) }
    )
  }
}
