import Foundation
import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// At the limit, the tests wait without a task, which may need a thread, too.
@Suite("A process at its limit of threads", .timeLimit(.minutes(5)), .endsStores)
struct ThreadLimitTests {
  @Test("A store that starts at the thread limit reports an error and connects once threads can be started")
  func launch() async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      let journal = Journal()
      ThreadLimit.reach()
      var configuration = try RedisConfiguration(url: url)
      configuration.retryQuickly(label: "service")
      let store = RedisStore(configuration, logger: journal.logger("service"))
      @Shared(.redis("count", store: store)) var count = 1
      $count.withLock { $0 = 2 }
      waitOnThisThread {
        if case .reconnecting(_, let error) = store.status { error.code == .outOfThreads } else { false }
      }
      #expect(($count.loadError as? RedisSharedStateError)?.code == .outOfThreads)
      // The status is published before the log.
      waitOnThisThread {
        journal.entries("No connection to Redis").contains { $0.error?.contains("no more threads") == true }
      }
      await #expect(throws: RedisSharedStateError.self) { try await $count.save() }
      ThreadLimit.lift()
      // The program does nothing but look.
      waitOnThisThread { store.status == .connected }
      try await store.flush(within: patience)
      #expect($count.loadError == nil)
    }
    #expect(try server.command("GET", "count").text == "2")
  }

  @Test("Slow user code at the thread limit is reported until another thread can serve the store")
  func slowCode() async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      let journal = Journal()
      var configuration = try RedisConfiguration(url: url)
      configuration.retryQuickly(label: "service")
      let store = RedisStore(configuration, logger: journal.logger("service"))
      let (slow, quick) = (
        Shared(wrappedValue: 0, .redis("slow", store: store)), Shared(wrappedValue: 0, .redis("quick", store: store))
      )
      try await slow.load()
      try await quick.load()
      let gate = Gate()
      defer { gate.open() }
      let updating = Task {
        try await slow.updateAtomically { value in
          ThreadLimit.reach()
          gate.pass()
          value += 1
        }
      }
      waitOnThisThread { gate.arrivals == 1 && !journal.entries("starts no more threads").isEmpty }
      waitOnThisThread { (quick.loadError as? RedisSharedStateError)?.code == .outOfThreads }
      #expect(store.status == .connected)
      ThreadLimit.lift()
      waitOnThisThread { quick.loadError == nil }
      quick.withLock { $0 = 1 }
      try await quick.save()
      #expect(gate.arrivals == 1)
      gate.open()
      try await updating.value
      #expect(journal.entries("starts no more threads").count == 1)
    }
    #expect(try server.command("GET", "slow").text == "1")
  }

  @Test("Slow user code that returns at the thread limit lets its thread serve the store again")
  func slowCodeReturns() async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      let journal = Journal()
      let configuration = try RedisConfiguration(url: url)
      let store = RedisStore(configuration, logger: journal.logger("service"))
      @Shared(.redis("count", store: store)) var count = 0
      try await $count.load()
      let share = $count
      let gate = Gate()
      let updating = Task {
        try await share.updateAtomically { value in
          ThreadLimit.reach()
          gate.pass()
          value += 1
        }
      }
      waitOnThisThread { !journal.entries("starts no more threads").isEmpty }
      gate.open()
      waitOnThisThread { share.wrappedValue == 1 }
      share.withLock { $0 = 2 }
      waitOnThisThread { store.pendingChanges == 0 }
      #expect(store.status == .connected)
      ThreadLimit.lift()
      try await updating.value
    }
    #expect(try server.command("GET", "count").text == "2")
  }

  @Test("A store that cannot start its deadline thread still connects and logs this once")
  func deadlines() async throws {
    let journal = Journal()
    let store = RedisStore(
      connector: InProcessConnector(InProcessRedis(), client: "service"),
      configuration: .inProcess,
      isInProcess: true,
      logger: journal.logger("service"),
      threads: ThreadStarter { $0 == "redis-deadlines" }
    ).endingWithTest
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save()
    #expect(journal.entries("starts no more threads").count == 1)
  }
}

/// The limit of threads of this process, which a test has started for itself.
private enum ThreadLimit {
  /// Lets no more threads start.
  static func reach() {
    // The kernel does not count the threads of root.
    if getuid() == 0 { setuid(65_534) }
    set { _ in 0 }
  }

  static func lift() { set(\.rlim_max) }

  private static func set(_ soft: (rlimit) -> rlim_t) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit)
    limit.rlim_cur = soft(limit)
    setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit)
  }
}

/// Waits for a condition. The watchdog ends a process that waits in vain.
private func waitOnThisThread(_ isSo: () -> Bool) {
  while !isSo() { Thread.sleep(forTimeInterval: 0.001) }
}
