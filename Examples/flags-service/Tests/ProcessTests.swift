import Foundation
import SharedStateRedisTesting
import Subprocess
import Synchronization
import Testing

@testable import FlagsService

/// Three instances in processes of their own, on a real server.
@Suite("Instances in their own processes", .timeLimit(.minutes(5)))
struct ProcessTests {
  @Test("Three instances agree before and after an outage, and exit cleanly")
  func threeInstances() async throws {
    let redis = try PrivateRedisServer(isPersistent: true)
    var instances: [Instance] = []
    for _ in 1...3 { instances.append(try await Instance(redis: redis.url)) }
    let clients = instances.map(\.client)
    try await all(clients, "/ready", answer: .init(text: "ready"))

    // Every instance sees what any of them changes.
    var times: [Duration] = []
    for round in 0..<30 {
      let isOn = "\(round.isMultiple(of: 2))"
      times.append(
        try await ContinuousClock().measure {
          #expect(try await clients[round % 3].put("/flags/dark-mode", isOn).status == 200)
          try await all(clients, "/flags/dark-mode", answer: .init(text: isOn))
        }
      )
    }
    times.sort()
    print("A change by one request shows in all three: median \(times[15].text), slowest \(times[29].text).")

    for instance in instances {
      instance.send(SIGUSR1)
      try await eventually("a report") {
        instance.log.contains { $0.contains("flags-service: current, shows revision") }
      }
    }

    // Without Redis, each keeps what it has. A change of the limits waits, and a change of a flag is refused.
    redis.kill()
    for client in clients {
      try await eventually("stale settings") { try await client.get("/ready").text.hasPrefix("ready, with values of ") }
      #expect(try await client.get("/ready").status == 200)
    }
    let limits = Limits(maximumFlags: 2, maximumNameLength: 20)
    #expect(try await clients[0].put(limits).status == 200)
    #expect(try await clients[1].put("/flags/dark-mode", "true").status == 503)
    #expect(try await clients[2].get("/flags/dark-mode") == .init(text: "false"))

    let outage = try await ContinuousClock().measure {
      try redis.restart()
      try await all(clients, "/ready", answer: .init(text: "ready"))
    }
    print("All three are ready \(outage.text) after the server is started again.")
    for client in clients { try await eventually("the limits") { try await client.limits() == limits } }
    #expect(try await clients[1].put("/flags/beta", "true").status == 200)
    try await all(clients, "/flags/beta", answer: .init(text: "true"))
    #expect(try await clients[2].put("/flags/one-too-many", "true").status == 409)

    for instance in instances { #expect(try await instance.terminate() == .exited(0)) }
  }

  @Test("An instance that starts while Redis is unreachable has the flags of its snapshot, and follows Redis again")
  func startWithoutRedis() async throws {
    let redis = try PrivateRedisServer(isPersistent: true)
    let folder = FileManager.default.temporaryDirectory.appending(path: "flags-\(UUID().uuidString.prefix(8))")
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = "\(redis.url)?snapshot=\(folder.path)"
    let first = try await Instance(redis: url)
    #expect(try await first.client.put("/flags/dark-mode", "true").status == 200)
    #expect(try await first.terminate() == .exited(0))

    redis.kill()
    let second = try await Instance(redis: url)
    let answer = try await second.client.get("/ready")
    #expect(answer.status == 200 && answer.text.hasPrefix("ready, with the snapshot of "))
    #expect(try await second.client.get("/flags/dark-mode") == .init(text: "true"))
    try redis.restart()
    try await all([second.client], "/ready", answer: .init(text: "ready"))
    #expect(try await second.terminate() == .exited(0))
  }

  /// Waits until all instances give the same answer.
  private func all(_ clients: [Client], _ path: String, answer: Client.Answer) async throws {
    for client in clients { try await eventually("\(path): \(answer)") { try await client.get(path) == answer } }
  }
}

extension Duration {
  fileprivate var text: String { "\(Int(self / .milliseconds(1))) ms" }
}

/// An instance of the service. Its process is killed when it is released.
private final class Instance: Sendable {
  let client: Client
  private let process: pid_t
  private let lines = Lines()
  private let run: Task<TerminationStatus, any Error>

  /// Starts the service, and returns once it listens.
  init(redis url: String) async throws {
    // The build puts the service beside this program, and only /proc knows where that is.
    let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
    let (starts, start) = AsyncStream<(process: pid_t, port: Int)>.makeStream()
    run = Task { [lines] in
      defer { start.finish() }
      return try await Subprocess.run(
        .name("flags-service"),
        environment: .inherit.updating(["PATH": folder, "REDIS_URL": url, "PORT": "0"]),
        input: .none,
        output: .discarded,
        error: .sequence
      ) { execution in
        for try await line in execution.standardError.strings() {
          lines.add(line)
          guard let port = line.firstMatch(of: /listening on 127.0.0.1:(\d+)/).flatMap({ Int($0.1) }) else { continue }
          start.yield((execution.processIdentifier.value, port))
        }
      }.terminationStatus
    }
    let started = try #require(await starts.first { _ in true }, "The service did not start.")
    (process, client) = (started.process, Client(port: started.port))
  }

  deinit { run.cancel() }

  /// What the instance has logged so far.
  var log: [String] { lines.all }

  func send(_ signal: Int32) { kill(process, signal) }

  /// Sends SIGTERM, and returns the status of the process once it has ended.
  func terminate() async throws -> TerminationStatus {
    send(SIGTERM)
    return try await run.value
  }
}

private final class Lines: Sendable {
  private let state = Mutex<[String]>([])

  var all: [String] { state.withLock { $0 } }
  func add(_ line: String) { state.withLock { $0.append(line) } }
}
