import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting
import Synchronization
import Testing

/// What `/proc` says about this process.
private struct ProcessFacts {
  /// Each open descriptor, and what it leads to.
  static var descriptors: [Int32: String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let descriptors = names.compactMap { name in
      // The one that has listed the folder is gone.
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")).map {
        (Int32(name) ?? -1, $0)
      }
    }
    return Dictionary(uniqueKeysWithValues: descriptors)
  }

  static var sockets: Int { descriptors.values.count { $0.hasPrefix("socket:") } }

  /// The descriptors that a program started with `exec` would have.
  static var inherited: Set<Int32> { Set(descriptors.keys.filter { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 }) }

  /// The names of the threads that stores have started.
  static var threads: [String] {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    let names = tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
    return names.map { $0.trimmingCharacters(in: .newlines) }.filter { $0.hasPrefix("redis-") || $0 == "user-code" }
      .sorted()
  }

  /// How often the threads of these names have gone to sleep.
  static func sleeps(of name: String) -> Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.map { "/proc/self/task/\($0)" }.reduce(0) { sum, task in
      guard (try? String(contentsOfFile: task + "/comm", encoding: .utf8))?.hasPrefix(name) == true,
        let status = try? String(contentsOfFile: task + "/status", encoding: .utf8)
      else { return sum }
      let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
      return sum + (line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
    }
  }

  /// The resident memory, in pages.
  static var pages: Int {
    let memory = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    return memory?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  }
}

/// Each test runs in a process of its own, which has nothing else to do.
@Suite("The effects of a store on its process", .timeLimit(.minutes(5)))
struct ProcessFactsTests {
  /// Uses a store, and lets it go.
  private static func use(_ url: String, while it: (RedisStore) async throws -> Void = { _ in }) async throws {
    var configuration = try RedisConfiguration(url: url)
    configuration.retryQuickly(label: "service")
    let store = RedisStore(configuration, logger: quiet)
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    try await share.updateAtomically { $0 += 1 }
    try await it(store)
    await store.shutdown(within: patience)
  }

  /// Uses a store twice, and expects that nothing is left but what the first use has made for the process.
  private static func leavesNothing(_ url: String, threads: [String], sockets: Int) async throws {
    try await use(url)
    try await eventually("the threads have ended") { ProcessFacts.threads == [] }
    let before = ProcessFacts.descriptors
    let inherited = ProcessFacts.inherited
    try await use(url) { _ in
      // A thread for user code ends when it has been idle for long.
      try await eventually("the threads that stay: \(threads)") {
        ProcessFacts.threads.filter { $0 != "user-code" } == threads
      }
      #expect(ProcessFacts.sockets == before.values.count { $0.hasPrefix("socket:") } + sockets)
      #expect(ProcessFacts.inherited == inherited)
    }
    try await eventually("the threads have ended") { ProcessFacts.threads == [] }
    try await eventually("the descriptors are closed") { ProcessFacts.descriptors == before }
  }

  @Test("A store keeps one thread and two connections, which exec does not inherit, and a shutdown ends all")
  func server() async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      try await Self.leavesNothing(url, threads: ["redis-link"], sockets: 2)
    }
  }

  @Test("With Sentinels, a store keeps two threads and three connections, and a shutdown ends all")
  func sentinel() async throws {
    let group = try await SentinelGroup()
    let url = group.url()
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      try await Self.leavesNothing(url, threads: ["redis-link", "redis-sentinel"], sockets: 3)
    }
  }

  @Test("An idle store wakes up only for its keep-alive")
  func idle() async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      var configuration = try RedisConfiguration(url: url)
      configuration.keepAliveInterval = .milliseconds(50)
      let store = RedisStore(configuration, logger: quiet)
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      try await share.load()
      let client = try RedisCommandClient(url: url)
      @Sendable func pings() throws -> Int {
        let stats = try client.command(["INFO", "commandstats"].map { Data($0.utf8) }).text ?? ""
        return stats.split(separator: "\r\n").filter { $0.hasPrefix("cmdstat_ping:") || $0.hasPrefix("cmdstat_role:") }
          .compactMap { $0.split(separator: ",").first?.split(separator: "=").last.flatMap { Int($0) } }.reduce(0, +)
      }
      // What the start has left to do is done by then.
      let start = try pings() + 8
      try await eventually("some pings") { try pings() >= start }
      let (first, link, watch) = (
        try pings(), ProcessFacts.sleeps(of: "redis-link"), ProcessFacts.sleeps(of: "shared-watch")
      )
      try await eventually("more pings") { try pings() >= first + 20 }
      let slept = ProcessFacts.sleeps(of: "redis-link") - link
      let sent = try pings() - first
      // Each ping is due, is sent, and is answered.
      #expect(slept <= 2 * sent + 4, "\(sent) pings, \(slept) times asleep")
      #expect(ProcessFacts.sleeps(of: "shared-watch") - watch <= 1)
    }
  }

  @Test("A store raises no SIGPIPE when the server closes its connections")
  func brokenPipe() async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      signal(SIGPIPE, SIG_DFL)
      var configuration = try RedisConfiguration(url: url)
      configuration.retryQuickly(label: "service")
      let store = RedisStore(configuration, logger: quiet)
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      let client = try RedisCommandClient(url: url)
      for number in 1...50 {
        try await share.save()
        _ = try client.command(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"].map { Data($0.utf8) })
        // Some of these are written to a connection that the server has closed.
        for step in 1...10 { share.withLock { $0 = number * 10 + step } }
      }
      try await share.save()
      #expect(share.wrappedValue == 510)
    }
  }

  /// Calls `fork`, which Swift hides, because a child has none of the threads of its parent.
  private static func fork() throws -> pid_t {
    let symbol = try #require(dlsym(nil, "fork"))
    return unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
  }

  @Test("Every operation fails in a forked child, and the parent's connections stay intact")
  func forkedChild() async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      let store = RedisStore(try RedisConfiguration(url: url), logger: quiet)
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      share.withLock { $0 = 1 }
      try await share.save()
      let client = try RedisCommandClient(url: url)
      func connections() throws -> [Substring] {
        let list = try client.command(["CLIENT", "LIST"].map { Data($0.utf8) }).text ?? ""
        return list.split(separator: "\n").filter { $0.contains(":writer ") || $0.contains(":subscriber ") }
          .compactMap { $0.split(separator: " ").first }
      }
      let before = try connections()
      let child = try Self.fork()
      guard child != 0 else { _exit(await Self.failures(in: store, share)) }
      var status: Int32 = 0
      #expect(waitpid(child, &status, 0) == child)
      #expect(status == 0, "operation \(status >> 8) did not fail as it should")
      #expect(share.saveError == nil, "\(String(describing: share.saveError))")
      try await share.updateAtomically { $0 += 1 }
      #expect(share.wrappedValue == 2)
      #expect(store.status == .connected, "\(store.status)")
      #expect(try client.command(["GET", "count"].map { Data($0.utf8) }).text == "2")
      #expect(before.count == 2)
      #expect(try connections() == before)
    }
  }

  /// The number of the first operation that does not fail as it should; 0: all do.
  private static func failures(in store: RedisStore, _ share: Shared<Int>) async -> Int32 {
    let operations: [() async throws -> Void] = [
      { try await share.load() }, { try await share.save() }, { try await share.reset() },
      { try await share.updateAtomically { $0 += 1 } }, { try await store.flush(within: .seconds(1)) },
      { try await store.waitUntilConnected(within: .seconds(1)) }, { _ = try await store.metadata(for: "count") },
      {
        share.withLock { $0 = 5 }
        if let error = share.saveError { throw error }
      },
      {
        let other = Shared(wrappedValue: 0, .redis("other", store: store))
        if let error = other.loadError { throw error }
      },
    ]
    for (number, operation) in operations.enumerated() {
      do {
        try await operation()
        return Int32(number + 1)
      } catch RedisSharedStateError.Code.forked {
      } catch {
        return Int32(number + 1)
      }
    }
    return await store.shutdown(within: .seconds(1)).isEmpty ? 0 : Int32(operations.count + 1)
  }

  /// Leads to one server after the other.
  private final class MovingConnector: RedisConnector {
    private let connectors: [HiredisConnector]
    private let turn = Atomic(0)
    private let callback = Mutex<(@Sendable (ServerEvent) -> Void)?>(nil)

    init(_ configurations: [RedisConfiguration]) {
      connectors = configurations.map { HiredisConnector(configuration: $0) }
    }

    func open(
      _ purpose: ConnectionPurpose,
      pass: UInt64,
      waker: Waker,
      deadline: Instant
    ) throws(RedisSharedStateError) -> (any RedisConnection)? {
      let connector = connectors[turn.load(ordering: .relaxed) % connectors.count]
      return try connector.open(purpose, pass: pass, waker: waker, deadline: deadline)
    }

    func stopConnecting(_ waker: Waker) {
      for connector in connectors { connector.stopConnecting(waker) }
    }

    func onServerEvent(_ callback: @escaping @Sendable (ServerEvent) -> Void) {
      self.callback.withLock { $0 = callback }
    }

    func move() {
      turn.add(1, ordering: .relaxed)
      callback.withLock(\.self)?(.moved)
    }
  }

  @Test("A thousand changes of the server leak no descriptors, threads or memory")
  func moves() async throws {
    let servers = [try PrivateRedisServer(), try PrivateRedisServer()]
    let urls = servers.map(\.url).joined(separator: " ")
    await #expect(processExitsWith: .success) { [urls = urls as String] in
      Watchdog.start(endingWith: 1)
      let configurations = try urls.split(separator: " ").map { url in
        var configuration = try RedisConfiguration(url: String(url))
        configuration.retryQuickly(label: "service")
        return configuration
      }
      let connector = MovingConnector(configurations)
      let store = RedisStore(connector: connector, configuration: configurations[0], isInProcess: false, logger: quiet)
      // A server that answers nothing but the handshake is not left at once.
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      var before: (descriptors: Int, threads: Int, pages: Int)?
      for move in 1...1_100 {
        connector.move()
        try await store.waitUntilConnected(within: patience)
        guard move == 100 else { continue }
        before = (ProcessFacts.descriptors.count, ProcessFacts.threads.count, ProcessFacts.pages)
      }
      let facts = try #require(before)
      // A few come and go while a store connects, or were about to when they were counted. A leak has a thousand.
      try await eventually("as many descriptors and threads, but for a few") {
        ProcessFacts.descriptors.count < facts.descriptors + 10 && ProcessFacts.threads.count < facts.threads + 10
      }
      // The value is read only after the store has connected.
      try await eventually("no error") { share.loadError == nil }
      // 4 MiB, of which the allocator may keep some.
      #expect(ProcessFacts.pages - facts.pages < 1_024)
    }
  }
}
