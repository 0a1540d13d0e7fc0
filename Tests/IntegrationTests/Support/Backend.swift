import Foundation
import Logging
import Metrics
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

/// A Redis server, real or fake, that a test can disturb.
protocol Backend: Sendable {
  /// Whether this is the fake.
  var isInProcess: Bool { get }
  /// The default configuration of a store.
  func configuration() throws -> RedisConfiguration
  func connector(_ configuration: RedisConfiguration) -> any RedisConnector
  /// Breaks all connections and refuses new ones, as a crash does.
  func goDown() throws
  /// Answers again, with the data from before.
  func comeBack() throws
  /// Stops answering, with the connections left open.
  func pause() throws
  func resume() throws
  /// Breaks the connections of a store for one purpose, as CLIENT KILL does.
  func cut(_ purpose: ConnectionPurpose, of label: String) throws
  func isConnected(_ purpose: ConnectionPurpose, of label: String) throws -> Bool
  func publish(_ payload: String, on channel: String) throws
  func get(_ key: String) throws -> String?
  func set(_ key: String, _ text: String) throws
  /// Makes the key a list.
  func setList(_ key: String) throws
  func delete(_ key: String) throws
  /// Lets the key expire almost at once.
  func expire(_ key: String) throws
  /// Renames a key to another name.
  func rename(_ key: String, to newKey: String) throws
  func flushAll() throws
  /// Crashes and restarts with the data of the last ``saveDump()``, or empty without one.
  func restartFromDump() throws
  func saveDump() throws
  /// Makes the server a replica, with the connections left open.
  func demote() throws
  func promote() throws
  /// Makes a backup as every script does, which gives the server's history another replication ID.
  func backUp() async throws
  /// Refuses access to keys and channels that do not contain these texts. `nil` refuses none.
  func permit(keys: String?, channels: String?) throws
  func expire(_ key: String, after time: Duration) throws
  /// The remaining time of the key; `nil` if the key is absent or never expires.
  func timeToLive(of key: String) throws -> Duration?
  /// Makes a store that a test can cut off alone.
  func separableStore(_ label: String) throws -> RedisStore
  /// Breaks the connections of such a store and refuses it new ones. Other stores stay connected.
  func separate(_ label: String) throws
  /// Lets the store that was cut off connect again.
  func reunite(_ label: String) throws
}

extension Backend {
  /// Makes a store that acts as a separate service, with short pauses between attempts to connect.
  ///
  /// - Parameter wrap: Stands between the store and each of its connections.
  func store(
    _ label: String = "service",
    logger: Logger = quiet,
    metrics: (any MetricsFactory)? = nil,
    way: Way = Way(),
    threads: ThreadStarter = .system,
    configure: (inout RedisConfiguration) -> Void = { _ in },
    wrap: @escaping @Sendable (any RedisConnection, ConnectionPurpose) -> any RedisConnection = { base, _ in base }
  ) throws -> RedisStore {
    var configuration = try configuration()
    configuration.retryQuickly(label: label)
    configure(&configuration)
    return RedisStore(
      connector: WatchedConnector(base: WrappingConnector(base: connector(configuration), wrap: wrap), way: way),
      configuration: configuration,
      isInProcess: isInProcess,
      logger: logger,
      metrics: metrics,
      threads: threads
    ).endingWithTest
  }

  /// The stored secret of a namespace.
  func secret(of namespace: String = "") throws -> Secret {
    try #require(try get(KeyNames(namespace: namespace, name: "", database: 0).secret).flatMap { Secret($0) })
  }

  /// Publishes a message as a client that knows a secret, or none.
  func publish(_ message: ChangeMessage, on channel: String, provenBy secret: Secret?) throws {
    try publish(String(decoding: message.payload(on: channel, provenBy: secret), as: UTF8.self), on: channel)
  }

  /// Breaks all connections of a store, and prevents new ones until the way is opened again.
  func cutOff(_ store: RedisStore, _ label: String, _ way: Way) async throws {
    way.close()
    for purpose in ConnectionPurpose.allCases { try cut(purpose, of: label) }
    try await store.isDown()
  }
}

/// The kinds of servers. Every guarantee is tested on both.
enum BackendKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case fake
  case server

  /// `SHARED_STATE_TEST_BACKEND` names the only one.
  static let allCases: [BackendKind] = {
    guard let name = ProcessInfo.processInfo.environment["SHARED_STATE_TEST_BACKEND"] else { return [.fake, .server] }
    guard let only = BackendKind(rawValue: name) else {
      fatalError("SHARED_STATE_TEST_BACKEND has to be 'fake' or 'server', and not '\(name)'.")
    }
    return [only]
  }()

  var testDescription: String { rawValue }

  func make() throws -> any Backend {
    switch self {
    case .fake: FakeBackend()
    case .server: try ServerBackend()
    }
  }

  /// Makes a backend that keeps only its dump when it crashes.
  func makeForgetful() throws -> any Backend {
    switch self {
    case .fake: FakeBackend()
    case .server: try ServerBackend(isPersistent: false)
    }
  }

  /// Makes a backend that refuses tracking, because the user lacks a right.
  func makeWithoutTracking(right: String) throws -> any Backend {
    switch self {
    case .fake:
      let backend = FakeBackend()
      backend.redis.refuseTracking()
      return backend
    case .server:
      return try ServerBackend(configuration: ["user default on nopass ~* &* \(ServerVersion.everything(but: right))"])
    }
  }
}

let quiet = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }

extension RedisConfiguration {
  mutating func retryQuickly(label: String) {
    self.label = label
    backoff = Backoff(base: .milliseconds(5), cap: .milliseconds(100))
    operationTimeout = patience
  }
}

struct FakeBackend: Backend {
  let redis = InProcessRedis()
  private let dump = Dump()

  private final class Dump: Sendable {
    let snapshot = Mutex<InProcessRedis.Snapshot?>(nil)
  }

  var isInProcess: Bool { true }

  func configuration() -> RedisConfiguration { .inProcess }

  func connector(_ configuration: RedisConfiguration) -> any RedisConnector {
    InProcessConnector(redis, client: configuration.label, access: configuration.access)
  }

  func goDown() {
    redis.refuseConnections(.unreachable(reason: "down"))
  }

  func comeBack() { redis.acceptConnections() }
  func pause() { redis.pause() }
  func resume() { redis.resume() }

  func cut(_ purpose: ConnectionPurpose, of label: String) {
    redis.cutConnections(purpose == .writer ? .writers : .subscribers, of: label)
  }

  func isConnected(_ purpose: ConnectionPurpose, of label: String) -> Bool {
    redis.clients.contains("\(label):\(purpose.rawValue)")
  }

  func publish(_ payload: String, on channel: String) { redis.publish(channel, payload) }
  func get(_ key: String) -> String? { redis.get(key) }
  func set(_ key: String, _ text: String) { redis.set(key, text) }
  func setList(_ key: String) { redis.set(key, type: "list") }
  func delete(_ key: String) { redis.delete(key) }
  func expire(_ key: String) { redis.expire(key, after: .milliseconds(1)) }
  func rename(_ key: String, to newKey: String) { redis.rename(key, to: newKey) }
  func flushAll() { redis.flushAll() }
  func saveDump() { dump.snapshot.withLock { $0 = redis.snapshot() } }

  func restartFromDump() {
    if let snapshot = dump.snapshot.withLock({ $0 }) { redis.restore(snapshot) } else { redis.loseData() }
  }

  func permit(keys: String?, channels: String?) { redis.permit(keysWith: keys, channelsWith: channels) }
  func demote() { redis.demote() }
  func promote() { redis.promote() }
  func backUp() { redis.backUp() }
  func expire(_ key: String, after time: Duration) { redis.expire(key, after: time) }
  func timeToLive(of key: String) -> Duration? { redis.timeToLive(of: key) }
  func separableStore(_ label: String) throws -> RedisStore { try store(label) }

  func separate(_ label: String) {
    redis.refuseConnections(.unreachable(reason: "separated"), keepingOpenConnections: true)
    redis.cutConnections(of: label)
  }

  func reunite(_ label: String) { redis.acceptConnections() }
}

struct ServerBackend: Backend {
  let server: PrivateRedisServer
  /// The way of the store that a test can cut off alone.
  private let separableWay = Way()

  init(password: String? = nil, isPersistent: Bool = true, configuration: [String] = []) throws {
    server = try PrivateRedisServer(
      .tcp,
      password: password,
      isPersistent: isPersistent,
      configuration: configuration
    )
  }

  var isInProcess: Bool { false }

  func configuration() throws -> RedisConfiguration { try RedisConfiguration(url: server.url) }

  func connector(_ configuration: RedisConfiguration) -> any RedisConnector {
    HiredisConnector(configuration: configuration)
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

  func isConnected(_ purpose: ConnectionPurpose, of label: String) throws -> Bool {
    try server.command("CLIENT", "LIST").text?.contains("name=\(label):\(purpose.rawValue) ") ?? false
  }

  func publish(_ payload: String, on channel: String) throws { _ = try server.command("PUBLISH", channel, payload) }
  func get(_ key: String) throws -> String? { try server.command("GET", key).text }
  func set(_ key: String, _ text: String) throws { _ = try server.command("SET", key, text) }

  func setList(_ key: String) throws {
    _ = try server.command("DEL", key)
    _ = try server.command("RPUSH", key, "element")
  }

  func delete(_ key: String) throws { _ = try server.command("DEL", key) }
  func expire(_ key: String) throws { _ = try server.command("PEXPIRE", key, "1") }
  func rename(_ key: String, to newKey: String) throws { _ = try server.command("RENAME", key, newKey) }
  func flushAll() throws { _ = try server.command("FLUSHALL") }
  func saveDump() throws { _ = try server.command("SAVE") }
  func restartFromDump() throws { try server.restart() }

  func permit(keys: String?, channels: String?) throws {
    let patterns = keys.map { ["~*\($0)*", "~*secret:{}"] } ?? ["~*"]
    let rules = ["resetkeys"] + patterns + ["resetchannels", channels.map { "&*\($0)*" } ?? "&*"]
    let reply = try server.command((["ACL", "SETUSER", "default"] + rules).map { Data($0.utf8) })
    precondition(reply.text == "OK", "The rules are refused: \(reply)")
  }

  func demote() throws { _ = try server.command("REPLICAOF", "127.0.0.1", "1") }
  func promote() throws { _ = try server.command("REPLICAOF", "NO", "ONE") }
  func backUp() async throws { try await server.backUp() }

  func expire(_ key: String, after time: Duration) throws {
    _ = try server.command("PEXPIRE", key, String(Int(time / .milliseconds(1))))
  }

  func timeToLive(of key: String) throws -> Duration? {
    guard case .integer(let left) = try server.command("PTTL", key), left >= 0 else { return nil }
    return .milliseconds(left)
  }

  func separableStore(_ label: String) throws -> RedisStore { try store(label, way: separableWay) }

  func separate(_ label: String) throws {
    separableWay.close()
    for purpose in ConnectionPurpose.allCases { try cut(purpose, of: label) }
  }

  func reunite(_ label: String) { separableWay.open() }
}
