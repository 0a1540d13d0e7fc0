import Foundation
import SharedState
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
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
      // A log handler runs on another thread.
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

  /// A store at the limit, whose only thread for user code runs a slow update, and which another service's change of
  /// another value reaches meanwhile.
  private struct Held {
    let journal = Journal()
    let gate = Gate()
    let store: RedisStore
    let slow: Shared<Int>
    let quick: Shared<Quick>
    let updating: Task<Void, any Error>

    init(_ url: String) async throws {
      var configuration = try RedisConfiguration(url: url)
      configuration.retryQuickly(label: "service")
      store = RedisStore(configuration, logger: journal.logger("service"))
      slow = Shared(wrappedValue: 0, .redis("slow", store: store))
      quick = Shared(wrappedValue: Quick(), .redis("quick", store: store))
      let others = Shared(wrappedValue: Quick(), .redis("quick", store: RedisStore(configuration, logger: quiet)))
      try await slow.load()
      for share in [quick, others] { try await share.load() }
      updating = Task { [slow, gate] in
        try await slow.updateAtomically { value in
          ThreadLimit.reach()
          gate.pass()
          value += 1
        }
      }
      waitOnThisThread { [gate] in gate.arrivals == 1 }
      others.withLock { $0.number = 1 }
      waitOnThisThread { [journal] in !journal.entries("starts no more threads").isEmpty }
    }
  }

  @Test("At the thread limit, slow user code delays other values until a thread can be started, and they report that")
  func slowCode() async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      let held = try await Held(url)
      defer { held.gate.open() }
      waitOnThisThread { (held.quick.loadError as? RedisSharedStateError)?.code == .outOfThreads }
      #expect(held.store.status == .connected && held.quick.wrappedValue.number == 0)
      ThreadLimit.lift()
      waitOnThisThread { held.quick.loadError == nil && held.quick.wrappedValue.number == 1 }
      held.quick.withLock { $0.number = 2 }
      try await held.quick.save()
      #expect(held.gate.arrivals == 1)
      held.gate.open()
      try await held.updating.value
      #expect(held.journal.entries("starts no more threads").count == 1)
    }
    #expect(try server.command("GET", "slow").text == "1")
  }

  @Test("Slow user code that returns at the thread limit lets its thread serve the other values again")
  func slowCodeReturns() async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      Watchdog.start(endingWith: 1)
      let held = try await Held(url)
      held.gate.open()
      waitOnThisThread { held.slow.wrappedValue == 1 && held.quick.wrappedValue.number == 1 }
      held.slow.withLock { $0 = 2 }
      waitOnThisThread { held.store.pendingChanges == 0 && held.quick.loadError == nil }
      #expect(held.store.status == .connected)
      ThreadLimit.lift()
      try await held.updating.value
    }
    #expect(try server.command("GET", "slow").text == "2")
  }

  @Test("A small value of a type without code of the program is shown without another thread")
  func plainValue() async throws {
    let (server, threads) = (InProcessRedis(), ThreadStarter { $0 == "user-code" })
    let writer = RedisStore.inProcess(server).endingWithTest
    let reader = RedisStore(
      connector: InProcessConnector(server, client: "reader"),
      configuration: .inProcess,
      isInProcess: true,
      logger: quiet,
      threads: threads
    ).endingWithTest
    @Shared(.redis("flags", store: writer)) var written: [String: Bool] = [:]
    @SharedReader(.redis("flags", store: reader)) var flags: [String: Bool] = [:]
    try await $flags.load(within: patience)
    $written.withLock { $0["new"] = true }
    try await eventually("the flag is shown") { flags["new"] == true }
  }

  @Test("A store that is refused threads for user code connects and saves", arguments: [1, 100])
  func userCode(refusals: Int) async throws {
    let journal = Journal()
    let left = Atomic(refusals)
    let store = RedisStore(
      connector: InProcessConnector(InProcessRedis(), client: "service"),
      configuration: .inProcess,
      isInProcess: true,
      logger: journal.logger("service"),
      threads: ThreadStarter { name in
        name == "user-code" && left.wrappingSubtract(1, ordering: .relaxed).oldValue > 0
      }
    ).endingWithTest
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save(within: patience)
    // A thread that calls the store may have run the code itself before others were refused.
    #expect(left.load(ordering: .relaxed) < refusals)
    // A refusal that a caller made up for is no shortage.
    #expect(journal.entries("starts no more threads").count <= 1)
  }
}

/// A value that is decoded by code of the program.
private struct Quick: Codable, Sendable {
  var number = 0
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
