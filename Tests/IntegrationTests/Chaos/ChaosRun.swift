import Foundation
import SharedStateRedis
import SharedStateTesting

@testable import ChaosService

/// Three services in processes of their own write to the same values, and their server is treated badly meanwhile.
///
/// The seed decides what is done to the server, in which order. What comes of it depends on the machine as well.
final class ChaosRun {
  /// What a server that was killed has when it is started again.
  enum Restart: String, CaseIterable, Sendable {
    /// All that it has ever confirmed.
    case withData
    /// Nothing, and it is only killed when every service has seen everything.
    case emptyAtRest
    /// Nothing, whenever it is killed: what one service has seen, and another one has not, may be lost.
    case empty
  }

  private enum Disturbance: CaseIterable {
    case kill, pause, cutWriters, cutSubscribers, flushScripts, foreignEdit
  }

  private let restart: Restart
  private var random: SplitMix64
  private let server: PrivateRedisServer
  private let services: [ServiceProcess]
  private var foreignEdits = 0

  private static let namespace = "chaos:"

  init(seed: UInt64, restart: Restart) throws {
    self.restart = restart
    random = SplitMix64(seed: seed)
    let server = try PrivateRedisServer(isPersistent: restart == .withData)
    self.server = server
    services = try ChaosDocument.fields.indices.map { index in
      try ServiceProcess(
        url: "\(server.url)?namespace=\(Self.namespace)",
        index: index,
        isOrdered: restart != .empty
      )
    }
  }

  /// Disturbs so many times, lets the services rest, and validates.
  func round(disturbances: Int) async throws {
    try await all("start")
    // One at least is a restart.
    for index in 0..<disturbances {
      let any = Disturbance.allCases.randomElement(using: &random) ?? .kill
      try await disturb(index == disturbances / 2 ? .kill : any)
    }
    try await all("rest")
    try validate(try await agreement())
    try await editFromOutside()
  }

  // MARK: Disturbances

  private func disturb(_ disturbance: Disturbance) async throws {
    switch disturbance {
    case .kill where restart == .emptyAtRest:
      try await loseEverythingAtRest()
    case .kill:
      try await whileWriting { server.kill() }
      try await write()
      try await whileWriting { try server.restart() }
    case .pause:
      try await whileWriting { try server.pause() }
      // Mostly for longer than the services wait for an answer.
      try await write()
      try await whileWriting { try server.resume() }
    case .cutWriters:
      try await whileWriting { try server.command("CLIENT", "KILL", "TYPE", "normal") }
    case .cutSubscribers:
      try await whileWriting { try server.command("CLIENT", "KILL", "TYPE", "pubsub") }
    case .flushScripts:
      try await whileWriting { try server.command("SCRIPT", "FLUSH") }
    case .foreignEdit:
      // A commit may overwrite it before anybody has seen it; so nothing is expected of it but that it does no harm.
      try await whileWriting { try edit("passing", common: nil) }
    }
  }

  private func loseEverythingAtRest() async throws {
    try await all("rest")
    let before = try await agreement()
    server.kill()
    let isWrittenMeanwhile = Bool.random(using: &random)
    if isWrittenMeanwhile { try await write() }
    try server.restart()
    if !isWrittenMeanwhile, try await agreement() != before {
      throw ChaosFailure("AcknowledgedSurvives: \(before) was lost")
    }
    try await all("start")
  }

  /// Does something while the services go on writing, and returns when they have.
  private func whileWriting(_ action: () throws -> Void) async throws {
    let (command, services) = (writeCommand(), services)
    async let writing = Self.perform(command, by: services)
    try action()
    _ = try await writing
  }

  private func write() async throws { try await all(writeCommand()) }

  private func writeCommand() -> String { "write \(Int.random(in: 2...60, using: &random))" }

  @discardableResult
  private func all(_ command: String) async throws -> [ChaosReport] {
    try await Self.perform(command, by: services)
  }

  /// Has every service carry out a command, all at once, and returns their reports in order.
  private static func perform(_ command: String, by services: [ServiceProcess]) async throws -> [ChaosReport] {
    try await withThrowingTaskGroup { tasks in
      for (index, service) in services.enumerated() {
        tasks.addTask { (index, try await service.perform(command)) }
      }
      return try await tasks.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  // MARK: Guarantees

  /// What all services report once they and the server agree.
  private func agreement() async throws -> [ChaosReport] {
    let deadline = ContinuousClock.now + patience
    while true {
      let reports = try await all("report")
      let stored = try (get(ChaosDocument.name), get(ChaosDocument.countName))
      let document = try stored.0.map { try JSONDecoder().decode(ChaosDocument.self, from: $0) } ?? ChaosDocument()
      let count = stored.1.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
      if reports.allSatisfy({ $0.document == document && $0.count == count }) { return reports }
      guard ContinuousClock.now < deadline else {
        throw ChaosFailure("Converges: stored are \(document) and \(count), not \(reports)")
      }
      // Nobody tells when the server and three processes agree.
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private func validate(_ reports: [ChaosReport]) throws {
    let histories = services.map(\.history)
    var violations = histories.compactMap(\.violation)
    for (report, field) in zip(reports, ChaosDocument.fields) where report.document[keyPath: field] != report.written {
      violations.append("AcknowledgedSurvives, PendingSurvives, FieldsMerge: \(report.written) is not in \(report)")
    }
    let updates = histories.flatMap(\.updates)
    let unknown = histories.reduce(0) { $0 + $1.unknownOutcomes }
    let count = reports.first?.count ?? 0
    let isLossAllowed = restart == .empty
    for (history, report) in zip(histories, reports) where history.updates.isEmpty || report.written == 0 {
      violations.append("A service has done nothing: \(report)")
    }
    if count > updates.count + unknown || !isLossAllowed && count < updates.count {
      violations.append("ExactlyOnceUpdates: \(updates.count) and \(unknown) unknown updates have made \(count)")
    }
    if !isLossAllowed, Set(updates).count != updates.count {
      violations.append("ExactlyOnceUpdates: one count is the result of two updates")
    }
    guard violations.isEmpty else { throw ChaosFailure(violations.joined(separator: "\n")) }
  }

  /// A field that no service knows outlives their changes, once they have seen what was written with it.
  private func editFromOutside() async throws {
    foreignEdits += 1
    try edit("foreign", common: -foreignEdits)
    let reports = try await agreement()
    guard reports.allSatisfy({ $0.document.common == -foreignEdits }) else {
      throw ChaosFailure("ForeignEditsSeen: \(-foreignEdits) is not in \(reports)")
    }
    try await write()
    try await all("rest")
    try validate(try await agreement())
    let stored = try get(ChaosDocument.name).map { try JSONDecoder().decode([String: Int].self, from: $0) }
    guard stored?["foreign"] == foreignEdits else {
      throw ChaosFailure("FieldsMerge: the foreign field is not \(foreignEdits) in \(stored ?? [:])")
    }
  }

  // MARK: The server

  private func get(_ name: String) throws -> Data? {
    guard case .string(let data) = try server.command("GET", Self.namespace + name) else { return nil }
    return data
  }

  /// Sets a field that the services do not know, as a program in another language would: in one step, so that it undoes
  /// no change of theirs.
  private func edit(_ field: String, common: Int?) throws {
    let script = """
      local text = redis.call('GET', KEYS[1])
      if not text then return end
      local document = cjson.decode(text)
      document[ARGV[1]] = tonumber(ARGV[2])
      if ARGV[3] ~= '' then document.common = tonumber(ARGV[3]) end
      redis.call('SET', KEYS[1], cjson.encode(document))
      """
    let reply = try server.command(
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
