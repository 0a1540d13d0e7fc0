import Foundation
import Logging
import SharedStateRedis
import SharedStateTesting
import Testing

/// A Redis, real or fake, that a test can treat badly.
protocol Backend: Sendable {
  /// A store as another service would have it, with short pauses between attempts to connect.
  func store(_ label: String, configure: (inout RedisConfiguration) -> Void) throws -> RedisStore
  /// Breaks all connections and refuses new ones, as a crash does.
  func goDown() throws
  /// Answers again, with the data it had.
  func comeBack() throws
  /// Stops answering, and leaves the connections open.
  func pause() throws
  func resume() throws
  /// Breaks the connections of a store for one purpose, as CLIENT KILL does.
  func cut(_ purpose: ConnectionPurpose, of label: String) throws
  func publish(_ payload: String, on channel: String) throws
  func get(_ key: String) throws -> String?
  func set(_ key: String, _ text: String) throws
  /// Makes the key a list.
  func setList(_ key: String) throws
  func delete(_ key: String) throws
}

extension Backend {
  func store(_ label: String = "service") throws -> RedisStore {
    try store(label) { _ in }
  }
}

/// Every guarantee is tested on the fake and on a real server.
enum BackendKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case fake
  case server

  var testDescription: String { rawValue }

  func make() throws -> any Backend {
    switch self {
    case .fake: FakeBackend()
    case .server: try ServerBackend()
    }
  }
}

let quiet = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }

extension RedisConfiguration {
  mutating func hurry(label: String) {
    self.label = label
    backoff = Backoff(base: .milliseconds(5), cap: .milliseconds(100))
  }
}

struct FakeBackend: Backend {
  let redis = InProcessRedis()

  func store(_ label: String, configure: (inout RedisConfiguration) -> Void) throws -> RedisStore {
    var configuration = RedisConfiguration.inProcess
    configuration.hurry(label: label)
    configure(&configuration)
    return .inProcess(redis, configuration: configuration, logger: quiet)
  }

  func goDown() {
    redis.refuseConnections(.unreachable(reason: "down"))
    redis.cutConnections()
  }

  func comeBack() { redis.acceptConnections() }
  func pause() { redis.pause() }
  func resume() { redis.resume() }

  func cut(_ purpose: ConnectionPurpose, of label: String) {
    redis.cutConnections(purpose == .writer ? .writers : .subscribers, of: label)
  }

  func publish(_ payload: String, on channel: String) { redis.publish(channel, payload) }
  func get(_ key: String) -> String? { redis.get(key) }
  func set(_ key: String, _ text: String) { redis.set(key, text) }
  func setList(_ key: String) { redis.set(key, type: "list") }
  func delete(_ key: String) { redis.delete(key) }
}

struct ServerBackend: Backend {
  let server: PrivateRedisServer

  init(password: String? = nil, configuration: [String] = []) throws {
    server = try PrivateRedisServer(.tcp, password: password, isPersistent: true, configuration: configuration)
  }

  func store(_ label: String, configure: (inout RedisConfiguration) -> Void) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: server.url)
    configuration.hurry(label: label)
    configure(&configuration)
    return RedisStore(configuration, logger: quiet)
  }

  func goDown() { server.kill() }
  func comeBack() throws { try server.restart() }
  func pause() throws { try server.pause() }
  func resume() throws { try server.resume() }

  func cut(_ purpose: ConnectionPurpose, of label: String) throws {
    let clients = try server.command("CLIENT", "LIST").text ?? ""
    for client in clients.split(separator: "\n") where client.contains("name=\(label):\(purpose.rawValue)") {
      let id = client.split(separator: " ").first?.dropFirst("id=".count) ?? ""
      _ = try server.command("CLIENT", "KILL", "ID", String(id))
    }
  }

  func publish(_ payload: String, on channel: String) throws { _ = try server.command("PUBLISH", channel, payload) }
  func get(_ key: String) throws -> String? { try server.command("GET", key).text }
  func set(_ key: String, _ text: String) throws { _ = try server.command("SET", key, text) }

  func setList(_ key: String) throws {
    _ = try server.command("DEL", key)
    _ = try server.command("RPUSH", key, "element")
  }

  func delete(_ key: String) throws { _ = try server.command("DEL", key) }
}
