import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting
import Testing

@Suite("The rights of a user", .timeLimit(.minutes(5)), .endsStores)
struct AccessRulesTests {
  private static let namespace = "shop:"

  @Test("The access rules are the ones that the article shows")
  func article() throws {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/SharedStateRedis/SharedStateRedis.docc/Rights.md")
    let text = try String(contentsOf: path, encoding: .utf8).split(whereSeparator: \.isWhitespace)
      .joined(separator: " ").replacing(" >password", with: "")
    let rules = [
      try RedisAccess.rules(user: "checkout", namespace: Self.namespace),
      try RedisAccess.rules(user: "display", namespace: Self.namespace, access: .readOnly),
      try RedisAccess.sentinelRules(user: "listener"),
    ]
    for line in rules { #expect(text.contains("\(line) ```"), "\(line)") }
  }

  @Test(
    "The access rules permit everything that a store does",
    arguments: ["", "shop:", "a b*[c]?", "{tag}:"],
    [0, 3]
  )
  func enough(namespace: String, database: Int) async throws {
    let server = try PrivateRedisServer(user: try .rules(user: "alice", namespace: namespace, database: database))
    let stores = try ["one", "two"].map { try server.store($0, namespace: namespace, database: database) }
    try await work(stores)
    for store in stores { #expect(store.status == .connected) }
  }

  @Test("The access rules permit nothing outside the namespace")
  func bounded() throws {
    let server = try PrivateRedisServer(user: try .rules(user: "alice", namespace: "a*[b]?"))
    let alice = try RedisCommandClient(url: server.url.replacing("redis://", with: "redis://alice:secret@"))
    let keys = [("a*[b]?count", true), ("ax[b]?count", false), ("a*b?count", false), ("a*[b]xcount", false)]
    for (key, isPermitted) in keys {
      let reply = try alice.command(["GET", key].map { Data($0.utf8) })
      if case .error = reply { #expect(!isPermitted, "\(key)") } else { #expect(isPermitted, "\(key)") }
    }
    guard case .error = try alice.command(["KEYS", "*"].map { Data($0.utf8) }) else {
      Issue.record("The user may do more than a store does.")
      return
    }
  }

  /// Without these, no operation fails. The article says what gets worse.
  private static let dispensable = [
    "client|tracking", "client|id", "client|setname", "role", "info", "publish", "pubsub|numsub", "script|load", "eval",
    "unsubscribe", "ping", "msetnx", "copy", "getrange",
  ]
  private static let necessary = RedisAccess.readWrite.commands(namespace: namespace, isCluster: false).filter {
    !dispensable.contains($0) && $0 != "get"
  }

  @Test("A missing necessary right causes an error that names the command", arguments: necessary)
  func isNecessary(command: String) async throws {
    // The server ends with its object.
    let (server, stores) = try services(without: command)
    let error = await #expect(throws: RedisSharedStateError.self) { try await work(stores) }
    #expect(error?.code == .permissionDenied, "\(String(describing: error))")
    let name = command.replacing("|", with: " ").uppercased()
    // 7.0 does not tell which command of a script it refuses.
    let isNamed = ["command \(name)", "one that its script calls"].contains { error?.description.contains($0) == true }
    #expect(isNamed, "\(String(describing: error))")
    #expect(server.isRunning)
  }

  @Test("A store works without a dispensable right, even when the server loses its data", arguments: dispensable)
  func isDispensable(command: String) async throws {
    let (server, stores) = try services(without: command)
    try await work(stores)
    try server.command("FLUSHALL")
    let count = Shared(wrappedValue: 0, .redis("count", store: stores[0]))
    count.withLock { $0 = 10 }
    try await count.save()
    #expect(try server.command("GET", "shop:count").text == "10")
  }

  // A server that has lost its scripts gets them by EVAL.
  @Test(
    "A store works without a dispensable right at a server that was restarted empty",
    arguments: dispensable.filter { $0 != "eval" }
  )
  func isDispensableAfterRestart(command: String) async throws {
    let (server, stores) = try services(without: command)
    let count = Shared(wrappedValue: 0, .redis("count", store: stores[0]))
    count.withLock { $0 = 10 }
    try await count.save()
    try server.restart()
    try server.permit(try rules(without: command))
    try await eventually("the store is connected") { stores[0].status == .connected }
    try await count.updateAtomically { $0 += 0 }
    count.withLock { $0 = 11 }
    try await count.save()
    #expect(try server.command("GET", "shop:count").text == "11")
  }

  // A change is refused without it only if another service was faster, so the order would decide about more.
  @Test("A store without the right to GET still reads changes by other services")
  func lacksGet() async throws {
    let (server, stores) = try services(without: "get")
    let counts = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    for share in counts { try await share.load() }
    counts[0].withLock { $0 = 1 }
    try await counts[1].becomes(1)
    #expect(server.isRunning)
  }

  private func services(without command: String) throws -> (PrivateRedisServer, [RedisStore]) {
    let server = try PrivateRedisServer(user: try rules(without: command))
    return (server, try ["one", "two"].map { try server.store($0, namespace: Self.namespace, database: 0) })
  }

  private func rules(without command: String) throws -> String {
    let rules = try RedisAccess.rules(user: "alice", namespace: Self.namespace).split(separator: " ")
    let rest = rules.filter { $0 != "+\(command)" }
    try #require(rest.count == rules.count - 1)
    return rest.joined(separator: " ")
  }

  /// Changes, updates and deletes small and large values.
  private func work(_ stores: [RedisStore]) async throws {
    let text = String(repeating: "x", count: 100_000)
    let counts = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    let texts = stores.map { Shared(wrappedValue: "", .redis("text", store: $0)) }
    for share in counts { try await share.load() }
    counts[0].withLock { $0 = 1 }
    try await counts[0].save()
    try await counts[1].updateAtomically { $0 += 1 }
    try await counts[0].becomes(2)
    texts[1].withLock { $0 = text }
    try await texts[1].save()
    try await texts[0].becomes(text)
    try await texts[0].reset()
    try await texts[1].becomes("")
    let brief = Shared(wrappedValue: "", .redis("brief", store: stores[0], options: .init(timeToLive: .seconds(600))))
    brief.withLock { $0 = text }
    try await brief.save()
  }
}

extension String {
  fileprivate static func rules(user: String, namespace: String, database: Int = 0) throws -> String {
    try RedisAccess.rules(user: user, namespace: namespace, database: database)
  }
}

extension PrivateRedisServer {
  /// A server whose user `alice` has the password `secret`, and the rights of a command.
  fileprivate convenience init(user rules: String) throws {
    try self.init()
    try permit(rules)
  }

  /// Gives the user `alice` the password `secret`, and the rights of a command.
  fileprivate func permit(_ rules: String) throws {
    let arguments = rules.split(separator: " ").map(String.init) + [">secret"]
    let reply = try command(arguments.map { Data($0.utf8) })
    try #require(reply.text == "OK", "\(rules): \(reply)")
  }

  fileprivate func store(_ label: String, namespace: String, database: Int) throws -> RedisStore {
    var configuration = try RedisConfiguration(
      host: "127.0.0.1",
      port: Int(port),
      credentials: RedisCredentials(user: "alice", password: "secret"),
      database: database,
      namespace: namespace
    )
    configuration.retryQuickly(label: label)
    return RedisStore(configuration, logger: quiet).endingWithTest
  }
}
