import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Liveness", .timeLimit(.minutes(5)), .endsStores)
struct LivenessTests {
  @Test(
    "A store notices that the network is silent on either or both connections",
    arguments: ["", ":subscriber", ":writer"]
  )
  func silentNetwork(connection: String) async throws {
    let backend = try ServerBackend()
    let forwarder = try Forwarder(to: backend.server.port)
    var configuration = try RedisConfiguration(url: "redis://127.0.0.1:\(forwarder.port)")
    configuration.retryQuickly(label: "service")
    configuration.keepAliveInterval = .milliseconds(100)
    configuration.requestTimeout = .milliseconds(200)
    configuration.connectTimeout = .milliseconds(200)
    let (store, other) = (RedisStore(configuration, logger: quiet).endingWithTest, try backend.store("other"))
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var others = 0
    // A busy machine may need several attempts.
    try await $count.load(within: patience)
    try await $others.load()

    forwarder.goSilent(about: connection)
    try await store.isDown()
    $others.withLock { $0 = 1 }
    try await $others.save()
    forwarder.cut()
    forwarder.speak()
    try await $count.becomes(1)
    $count.withLock { $0 = 2 }
    try await $others.becomes(2)
  }

  @Test("A server that closes idle connections is pinged before it does so, and one warning is logged")
  func idleConnections() async throws {
    let backend = try ServerBackend(configuration: ["timeout 2"])
    let journal = Journal()
    let store = try backend.store("service", logger: journal.logger("service"))
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    try await eventually("the warning is logged") { journal.entries(Journal.closesIdleConnections).count == 1 }
    // Two connections had to end for that.
    try await eventually("the third connection is logged") { journal.entries("Connected to").count >= 3 }
    let connections = journal.entries("Connected to").count
    let pings = try backend.pings
    try await eventually("the server gets eight more pings") { try backend.pings >= pings + 8 }
    #expect(journal.entries("Connected to").count == connections)
    #expect(journal.entries(Journal.closesIdleConnections).count == 1)
  }

  @Test("Two server restarts in quick succession are not mistaken for a limit on idle connections")
  func restarts() async throws {
    let backend = try ServerBackend()
    let journal = Journal()
    // A busy machine may take longer than the default interval to look at the server's counts.
    let store = try backend.store("service", logger: journal.logger("service")) {
      $0.keepAliveInterval = .seconds(3_600)
    }
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    for _ in 0..<2 {
      try await backend.isIdle(for: 1)
      backend.goDown()
      try await store.isDown()
      try backend.comeBack()
      try await store.isUp()
      try await $count.load()
    }
    // Those of the new connection are sent by then.
    try await backend.isIdle(for: 1)
    let pings = try backend.pings
    // With pings twice a second, no connection would ever be idle for as long.
    try await backend.isIdle(for: 3)
    #expect(try backend.pings == pings)
    #expect(journal.entries(Journal.closesIdleConnections).isEmpty)
  }

  @Test("A primary that becomes a replica is noticed without a write", arguments: BackendKind.allCases)
  func demoted(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store { $0.keepAliveInterval = .milliseconds(50) }
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save()
    try backend.demote()
    try await store.isReconnecting(because: .notPrimary)
    $count.withLock { $0 = 1 }
    #expect(count == 1)
    try backend.promote()
    try await store.flush(within: patience)
    #expect(try backend.get("count") == "1")
  }

  @Test("A write immediately reveals that the primary has become a replica", arguments: BackendKind.allCases)
  func demotedWriter(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store { $0.keepAliveInterval = .seconds(3_600) }
    let text = String(repeating: "x", count: 20_000)
    @Shared(.redis("small", store: store)) var small = 0
    @Shared(.redis("large", store: store)) var large = ""
    try await $small.save()
    try await $large.save()
    try backend.demote()
    $small.withLock { $0 = 1 }
    try await store.isReconnecting(because: .notPrimary)
    $large.withLock { $0 = text }
    try backend.promote()
    try await store.flush(within: patience)
    #expect(try backend.get("small") == "1")
    #expect(try backend.get("large") == "\"\(text)\"")
    #expect($small.saveError == nil && $large.saveError == nil)
    try backend.demote()
    $large.withLock { $0 = "y" }
    try await store.isReconnecting(because: .notPrimary)
    try backend.promote()
    try await store.flush(within: patience)
    #expect(try backend.get("large") == "\"y\"")
  }

  @Test("Converges: a change whose message was lost is found by comparing, or by the next message")
  func lostMessage() async throws {
    for antiEntropy in [Duration.milliseconds(50), .seconds(3_600)] {
      let backend = FakeBackend()
      let journal = Journal()
      let writer = try backend.store("writer")
      let reader = try backend.store("reader", logger: journal.logger("reader")) {
        $0.antiEntropyInterval = antiEntropy
      }
      // Tracking would find the change as well.
      let options = RedisSharedKey<Int>.Options(detectsForeignEdits: false)
      @Shared(.redis("count", store: writer, options: options)) var written = 0
      @Shared(.redis("count", store: reader, options: options)) var read = 0
      try await $written.load()
      try await $read.load()
      // The message is dropped for every subscriber.
      backend.redis.dropMessages(next: 1)
      $written.withLock { $0 = 1 }
      try await $written.save()
      if antiEntropy > .seconds(1) {
        $written.withLock { $0 = 2 }
        try await $read.becomes(2)
        try await eventually("the gap is logged") { !journal.entries("lost in transit").isEmpty }
      } else {
        try await $read.becomes(1)
      }
    }
  }

  @Test("Converges: tracking reveals a change whose message is lost, and a repeated message does no harm")
  func lostMessageWithTracking() async throws {
    let backend = FakeBackend()
    let writer = try backend.store("writer")
    // Anti-entropy compares nothing during the test.
    let reader = try backend.store("reader") { $0.antiEntropyInterval = .seconds(3_600) }
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    try await $written.load()
    try await $read.load()
    backend.redis.dropMessages(next: 3)
    for value in 1...3 {
      $written.withLock { $0 = value }
      try await $written.save()
    }
    try await $read.becomes(3)
    backend.redis.duplicateMessages(next: 1)
    $written.withLock { $0 = 4 }
    try await $read.becomes(4)
    $written.withLock { $0 = 5 }
    try await $read.becomes(5)
  }
}

extension ServerBackend {
  /// Waits until no connection of a service was used for this many seconds.
  fileprivate func isIdle(for seconds: Int) async throws {
    try await eventually("\(seconds) s without a command") {
      let lines = try server.command("CLIENT", "LIST").text?.split(whereSeparator: \.isNewline) ?? []
      let services = lines.filter { $0.contains("name=service") }
      return services.count == 2
        && services.allSatisfy { line in
          let idle = line.split(separator: " ").first { $0.hasPrefix("idle=") }?.dropFirst(5)
          return idle.flatMap { Int($0) }.map { $0 >= seconds } ?? false
        }
    }
  }

  /// The number of keep-alive requests that the server has received.
  fileprivate var pings: Int {
    get throws {
      let info = try server.command("INFO", "commandstats").text ?? ""
      return info.split(whereSeparator: \.isNewline).reduce(0) { sum, line in
        let prefixes = ["cmdstat_ping:calls=", "cmdstat_role:calls="]
        guard let prefix = prefixes.first(where: line.hasPrefix) else { return sum }
        return sum + (Int(line.dropFirst(prefix.count).prefix { $0.isNumber }) ?? 0)
      }
    }
  }
}
