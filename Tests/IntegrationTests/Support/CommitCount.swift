import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// Counts the commits that are sent to a server.
struct CommitCount: Sendable {
  private let backend: any Backend
  private let before: Int

  /// Begins to count. The fake holds messages from now on, because each commit publishes one.
  init(_ backend: any Backend) throws {
    self.backend = backend
    (backend as? FakeBackend)?.redis.holdMessages()
    before = try Self.total(backend)
  }

  /// The number of commits since the beginning.
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
