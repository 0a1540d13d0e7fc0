import Logging
import ServiceLifecycle
import SharedStateRedisTesting
import Testing

@testable import FlagsService

/// Instances in this process, on a fake. No Redis is needed.
@Suite("Instances on a fake", .timeLimit(.minutes(2)))
struct FlagsServiceTests {
  let redis = InProcessRedis()

  /// Runs two instances until the body returns. Each has a store of its own.
  private func withInstances(_ body: (Client, Client) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      var (groups, clients): ([ServiceGroup], [Client]) = ([], [])
      for _ in 1...2 {
        let metrics = PrometheusMetrics()
        let store = RedisStore.inProcess(redis, metrics: metrics)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let services = Program.services(store: store, metrics: metrics, host: "127.0.0.1", port: 0) { port.yield($0) }
        let group = ServiceGroup(services: services, logger: Logger(label: "tests"))
        tasks.addTask {
          defer { port.finish() }
          try await group.run()
        }
        groups.append(group)
        clients.append(Client(port: try #require(await ports.first { _ in true })))
      }
      for client in clients { try await eventually("ready") { try await client.get("/ready").status == 200 } }
      try await body(clients[0], clients[1])
      for group in groups { await group.triggerGracefulShutdown() }
      try await tasks.waitForAll()
    }
  }

  @Test("Both instances serve a flag")
  func sharedFlag() async throws {
    try await withInstances { first, second in
      #expect(try await first.get("/flags/dark-mode").status == 404)
      #expect(try await first.put("/flags/dark-mode", "true") == .init(text: "true"))
      #expect(try await first.get("/flags/dark-mode") == .init(text: "true"))
      try await eventually("the flag") { try await second.get("/flags") == .init(text: #"{"dark-mode":true}"#) }
      #expect(try await second.put("/flags/dark-mode", "maybe").status == 400)
    }
  }

  @Test("Only one of two instances adds the last flag within the limit")
  func lastFlag() async throws {
    redis.set("flags-service", #"{"flags":{"a":true},"limits":{"maximumFlags":2,"maximumNameLength":3}}"#)
    try await withInstances { first, second in
      async let one = first.put("/flags/b", "true").status
      async let other = second.put("/flags/c", "true").status
      let statuses = try await [one, other]
      #expect(statuses.sorted() == [200, 409])
      #expect(try await second.put("/flags/a", "false").status == 200)
      #expect(try await second.put("/flags/long", "true").status == 400)
    }
  }

  @Test("An instance that loses Redis stays ready, says that its settings may be stale, and keeps serving")
  func lostRedis() async throws {
    try await withInstances { first, second in
      redis.refuseConnections()
      try await eventually("the end of the connection") {
        try await first.get("/ready").text.hasPrefix("ready, with values of ")
      }
      #expect(try await first.get("/ready").status == 200)
      #expect(try await first.get("/health").status == 200)
      let limits = Limits(maximumFlags: 7, maximumNameLength: 8)
      #expect(try await first.put(limits).status == 200)
      #expect(try await first.limits() == limits)

      redis.acceptConnections()
      try await eventually("the limits") { try await second.limits() == limits }
      try await eventually("ready again") { try await first.get("/ready") == .init(text: "ready") }
    }
  }

  @Test("An instance whose settings cannot be read is healthy but not ready")
  func unreadableSettings() async throws {
    try await withInstances { first, _ in
      redis.set("flags-service", "no document")
      try await eventually("not ready") { try await first.get("/ready").status == 503 }
      #expect(try await first.get("/health").status == 200)
    }
  }

  @Test("A commit appears in the metrics")
  func metricsAreShown() async throws {
    try await withInstances { first, _ in
      #expect(try await first.put("/flags/a", "true").status == 200)
      try await eventually("a commit") {
        let lines = try await first.get("/metrics").text.split(separator: "\n")
        return lines.contains { $0.hasPrefix("shared_state_commits{label=") && $0.hasSuffix("} 1.0") }
          && lines.contains { $0.hasPrefix("shared_state_commit_seconds_count{label=") && $0.hasSuffix("} 1.0") }
      }
    }
  }
}
