import SharedStateRedis
import SharedStateTesting
import Testing

/// Counts how many commits a server is sent.
struct CommitCount: Sendable {
  private let backend: any Backend
  private let before: Int

  /// Begins to count. On the fake messages are held from now on, because there is one for each commit.
  init(_ backend: any Backend) throws {
    self.backend = backend
    (backend as? FakeBackend)?.redis.holdMessages()
    before = try Self.total(backend)
  }

  /// How many there were since.
  func count() throws -> Int { try Self.total(backend) - before }

  private static func total(_ backend: any Backend) throws -> Int {
    if let fake = backend as? FakeBackend { return fake.redis.heldMessages.count }
    let server = try #require(backend as? ServerBackend).server
    let statistics = try server.command("INFO", "commandstats").text ?? ""
    return ["cmdstat_evalsha:calls=", "cmdstat_eval:calls="].reduce(0) { sum, prefix in
      let line = statistics.split(separator: "\r\n").first { $0.hasPrefix(prefix) }
      return sum + (line.flatMap { Int($0.dropFirst(prefix.count).prefix { $0.isNumber }) } ?? 0)
    }
  }
}
