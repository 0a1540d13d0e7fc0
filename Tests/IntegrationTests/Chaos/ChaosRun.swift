import Foundation
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@testable import ChaosService

/// Three services, each in its own process, write to the same values. Meanwhile the run disturbs their server, and a
/// forger announces values that were never stored.
///
/// The seed determines the disturbances and their order. Their effects also depend on the machine.
final class ChaosRun {
  /// The data that a killed server has when it restarts.
  enum Restart: String, CaseIterable, Sendable {
    /// Everything that it has ever confirmed.
    case withData
    /// No data. It is killed only when every service has seen everything.
    case emptyAtRest
    /// No data. It is killed at any time, so a change that only some services have seen may be lost.
    case empty
  }

  private enum Disturbance: CaseIterable {
    case kill, pause, cutWriters, cutSubscribers, flushScripts, foreignEdit, backUp
  }

  private let restart: Restart
  private var random: SplitMix64
  private let primary: @Sendable () throws -> PrivateRedisServer
  /// Chooses the primary, if there are several servers.
  private let sentinels: SentinelGroup?
  /// Learns of another primary only once the former one is a replica.
  private let outdated: PrivateRedisServer?
  private let services = ChaosDocument.fields.map { _ in ServiceProcess() }
  private let history = ChaosHistory()
  private let forger: ChaosForger
  private var foreignEdits = 0

  private static let namespace = "chaos:"

  /// - Parameter security: Makes the server speak TLS.
  init(seed: UInt64, restart: Restart, security: PrivateRedisServer.Security? = nil) throws {
    self.restart = restart
    random = SplitMix64(seed: seed)
    let server = try PrivateRedisServer(
      security: security,
      isPersistent: restart == .withData,
      configuration: [ChaosForger.user(of: Self.namespace)]
    )
    (primary, sentinels, outdated) = ({ server }, nil, nil)
    forger = try ChaosForger(namespace: Self.namespace, on: primary)
    declare()
  }

  /// A run whose primary is not killed, but replaced, while it goes on as a second primary. The first service asks only
  /// an outdated Sentinel, which the others ask as well.
  init(replicatedWithSeed seed: UInt64) async throws {
    // Each primary lacks what the other one has accepted meanwhile.
    restart = .empty
    random = SplitMix64(seed: seed)
    let group = try await SentinelGroup(configuration: [ChaosForger.user(of: Self.namespace)])
    for sentinel in group.sentinels {
      // A pause is no reason to replace the primary.
      try sentinel.command("SENTINEL", "SET", SentinelGroup.name, "down-after-milliseconds", "60000")
    }
    primary = { try #require(try group.primary()) }
    (sentinels, outdated) = (group, try group.outdatedSentinel())
    forger = try ChaosForger(namespace: Self.namespace, on: primary)
    declare()
  }

  private func declare() {
    history.record(.declared(name: ChaosDocument.countName, RedisHistory.Rules(isCounter: true)))
    history.record(.permitted([Self.namespace + "*"], others: []))
  }

  deinit { forger.end() }

  /// Runs the services, and makes rounds until this time, at least one.
  func rounds(until end: ContinuousClock.Instant) async throws {
    try await withThrowingTaskGroup { processes in
      for (index, service) in services.enumerated() {
        let url = try url(ofService: index)
        processes.addTask { [history] in
          try await service.run(url: url, index: index, history)
        }
      }
      repeat { try await round(disturbances: 10) } while ContinuousClock.now < end
      for service in services { service.end() }
      try await processes.waitForAll()
    }
  }

  private func url(ofService index: Int) throws -> String {
    let url =
      if let sentinels, let outdated {
        sentinels.url(of: index == 0 ? [outdated] : sentinels.sentinels + [outdated])
      } else {
        try primary().url
      }
    return "\(url)\(url.contains("?") ? "&" : "?")namespace=\(Self.namespace)"
  }

  /// Makes this many disturbances, lets the services rest, and judges the recorded history.
  private func round(disturbances: Int) async throws {
    forger.start()
    try await all("start")
    // At least one disturbance is a restart, or a fork, which takes longer.
    let others = Disturbance.allCases.filter { sentinels == nil || $0 != .kill }
    for index in 0..<disturbances {
      let any = others.randomElement(using: &random) ?? .kill
      try await disturb(index == disturbances / 2 ? .kill : any)
    }
    // A secured connection takes longer to open, and the forger needs many.
    try await eventually("every kind of forgery has reached a subscriber") { [forger] in !forger.isIdle }
    try await all("rest")
    let rest = try await judgeAtRest()
    let idle = history.idle(among: Set(rest.boxes.map(\.box.service)))
    guard idle.isEmpty else { throw ChaosFailure("\(idle) have done nothing.") }
    try await editFromOutside()
  }

  // MARK: Disturbances

  private func disturb(_ disturbance: Disturbance) async throws {
    let server = try primary()
    switch disturbance {
    case .kill where sentinels != nil:
      try await fork(server)
    case .kill where restart == .emptyAtRest:
      try await loseEverythingAtRest()
    case .kill:
      recordReplacement()
      try await whileWriting { server.kill() }
      try await write()
      try await whileWriting { try server.restart() }
      recordReplacement()
    case .pause:
      try await whileWriting { try server.pause() }
      // The pause usually lasts longer than the services wait for an answer.
      try await write()
      try await whileWriting { try server.resume() }
    case .cutWriters:
      try await whileWriting { try server.command("CLIENT", "KILL", "TYPE", "normal") }
    case .cutSubscribers:
      try await whileWriting { try server.command("CLIENT", "KILL", "TYPE", "pubsub") }
    case .flushScripts:
      try await whileWriting { try server.command("SCRIPT", "FLUSH") }
    case .foreignEdit:
      // A commit may overwrite the edit before any service has seen it, so the run checks only that it does no harm.
      try await whileWriting { try edit("passing", common: nil) }
    case .backUp:
      // Every backup begins as a replica does, which gives the server's history another replication ID.
      try await whileWriting { try backUp(server) }
    }
  }

  private func backUp(_ server: PrivateRedisServer) throws {
    do {
      try server.command("PSYNC", "?", "-1")
    } catch RedisSharedStateError.Code.protocolViolation {
      // While the server prepares the data for a replica as well, it sends newlines first.
    }
  }

  private func loseEverythingAtRest() async throws {
    try await all("rest")
    try await judgeAtRest()
    recordReplacement()
    let server = try primary()
    server.kill()
    let isWrittenMeanwhile = Bool.random(using: &random)
    if isWrittenMeanwhile { try await write() }
    try server.restart()
    recordReplacement()
    // Values that were not changed must be the same as before.
    if !isWrittenMeanwhile { try await judgeAtRest() }
    try await all("start")
  }

  /// Replaces a primary that the Sentinels cannot demote, so that there are two for a while.
  private func fork(_ former: PrivateRedisServer) async throws {
    guard let sentinels, let outdated else { return }
    recordReplacement()
    try former.command("ACL", "SETUSER", "default", "-replicaof", "-slaveof")
    try await eventually("a failover begins") {
      try sentinels.sentinels[0].command("SENTINEL", "FAILOVER", SentinelGroup.name).text == "OK"
    }
    try await sentinels.isReplaced(former)
    let server = try primary()
    try await eventually("all Sentinels but the outdated one name the new primary") {
      try sentinels.sentinels.allSatisfy { try sentinels.address(at: $0) == "\(server.port)" }
    }
    // A service that listens to the outdated Sentinel asks all of them. The first service comes back.
    try former.command("CLIENT", "KILL", "TYPE", "normal")
    try await eventually("the others find the new primary") {
      try server.serves("chaos1") && server.serves("chaos2")
    }
    try await eventually("the first service stays") { try former.serves("chaos0") }
    try await write()
    try former.command("ACL", "SETUSER", "default", "+replicaof", "+slaveof")
    try former.command("REPLICAOF", "127.0.0.1", "\(server.port)")
    try sentinels.update(outdated, to: server)
    recordReplacement()
  }

  private func recordReplacement() {
    history.record(.replaced)
    if restart == .empty { history.record(.lost) }
  }

  /// Performs an action while the services write, and returns when they have finished.
  private func whileWriting(_ action: () throws -> Void) async throws {
    let (command, services) = (writeCommand(), services)
    async let writing = Self.perform(command, by: services)
    try action()
    _ = try await writing
  }

  private func write() async throws { try await all(writeCommand()) }

  private func writeCommand() -> String { "write \(Int.random(in: 2...60, using: &random))" }

  @discardableResult
  private func all(_ command: String) async throws -> [RedisHistory.Rest.Held] {
    try await Self.perform(command, by: services)
  }

  /// Has all services carry out a command at once, and returns the contents of their boxes.
  private static func perform(_ command: String, by services: [ServiceProcess]) async throws -> [RedisHistory.Rest.Held]
  {
    try await withThrowingTaskGroup { tasks in
      for service in services { tasks.addTask { try await service.perform(command) } }
      return try await tasks.reduce(into: []) { $0 += $1 }
    }
  }

  // MARK: The history

  /// Waits until all services and the server agree, or until the patience is over, and judges the recorded history. The
  /// forger rests meanwhile.
  @discardableResult
  private func judgeAtRest() async throws -> RedisHistory.Rest {
    try await forger.rest()
    defer { forger.start() }
    let deadline = ContinuousClock.now + patience
    var rest = try await look()
    while !Self.agree(rest), ContinuousClock.now < deadline {
      // No event reports that the server and three processes agree.
      try await Task.sleep(for: .milliseconds(10))
      rest = try await look()
    }
    history.record(.rested(rest))
    try history.judge()
    try forger.judge()
    return rest
  }

  private func look() async throws -> RedisHistory.Rest {
    let boxes = try await all("report")
    var stored: [String: RedisHistory.Stored] = [:]
    for name in [ChaosDocument.name, ChaosDocument.countName] { stored[name] = try self.stored(name) }
    return RedisHistory.Rest(stored: stored, boxes: boxes, keys: try keys())
  }

  private static func agree(_ rest: RedisHistory.Rest) -> Bool {
    rest.boxes.allSatisfy { held in
      guard let stored = rest.stored[held.box.name], stored.revision == held.revision else { return false }
      return held.document.fields.allSatisfy { stored.document?[$0] == $1 }
    }
  }

  /// Adds a field that no service knows. It must survive their changes once they have seen the edit.
  private func editFromOutside() async throws {
    foreignEdits += 1
    try edit("foreign", common: -foreignEdits)
    try await judgeAtRest()
    try await write()
    try await all("rest")
    try await judgeAtRest()
  }

  // MARK: The server

  private func stored(_ name: String) throws -> RedisHistory.Stored {
    let names = KeyNames(namespace: Self.namespace, name: name, database: 0)
    let revision = try get(names.meta).flatMap { Meta(String(decoding: $0, as: UTF8.self)) }?.revision
    let data = try get(names.value)
    let document = data.flatMap { RedisHistory.Document(json: $0) }
    let unreadable = data.map { RedisHistory.Stored.Content.unreadable("\($0.count) bytes") }
    let content = document.map { .document($0) } ?? unreadable ?? .absent
    return RedisHistory.Stored(revision: revision?.rawValue ?? 0, content)
  }

  private func get(_ key: String) throws -> Data? {
    guard case .string(let data) = try primary().command("GET", key) else { return nil }
    return data
  }

  private func keys() throws -> [String] {
    try primary().command("KEYS", "*").elements.compactMap(\.text)
  }

  /// Sets a field that the services do not know, as a program in another language would. It does so in one step, which
  /// undoes none of their changes.
  private func edit(_ field: String, common: Int?) throws {
    var fields = [field: String(foreignEdits)]
    fields["common"] = common.map { String($0) }
    history.record(.edited(name: ChaosDocument.name, RedisHistory.Document(fields), nil))
    let script = """
      local text = redis.call('GET', KEYS[1])
      if not text then return end
      local document = cjson.decode(text)
      document[ARGV[1]] = tonumber(ARGV[2])
      if ARGV[3] ~= '' then document.common = tonumber(ARGV[3]) end
      redis.call('SET', KEYS[1], cjson.encode(document))
      """
    let reply = try primary().command(
      "EVAL",
      script,
      "1",
      Self.namespace + ChaosDocument.name,
      field,
      String(foreignEdits),
      common.map { String($0) } ?? ""
    )
    if case .error(let text) = reply { throw ChaosFailure("The foreign edit was refused: \(text)") }
  }
}
