import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A process without descriptors", .timeLimit(.minutes(5)))
struct DescriptorTests {
  @Test(
    "A store without free descriptors reports the shortage, and connects once descriptors are free",
    arguments: 0...5
  )
  func runsOut(left: Int) async throws {
    let server = try PrivateRedisServer()
    let url = server.url
    await #expect(processExitsWith: .success) { [url = url as String, left = left as Int] in
      Watchdog.start(endingWith: 1)
      var configuration = try RedisConfiguration(url: url)
      configuration.retryQuickly(label: "service")
      let journal = Journal()
      let taken = Descriptors(leaving: left)
      // The store begins to connect at once.
      let store = RedisStore(configuration, logger: journal.logger("service"))
      @Shared(.redis("count", store: store)) var count = 1
      $count.withLock { $0 = 2 }
      let error = Self.firstOutcome(of: store, journal)
      if let error { #expect(error.contains("Raise `ulimit -n`"), "\(error)") }
      // Two connections and the thread that waits for them need three descriptors.
      #expect(error != nil || left >= 3)
      taken.giveBack()
      try await store.flush(within: patience)
      #expect(store.status == .connected)
    }
  }

  /// The reason why the store could not connect; `nil` if it could. Waiting here must not need a descriptor.
  private static func firstOutcome(of store: RedisStore, _ journal: Journal) -> String? {
    while true {
      let isConnected = store.status == .connected
      if let told = journal.entries("No connection to Redis").first { return told.error ?? "" }
      if isConnected { return nil }
      Thread.sleep(forTimeInterval: 0.001)
    }
  }
}

/// Takes all descriptors that the process may have, except a few.
private struct Descriptors {
  private var descriptors: [Int32] = []

  init(leaving left: Int) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_cur, 256)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    while case let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC), descriptor >= 0 {
      descriptors.append(descriptor)
    }
    for _ in 0..<left { close(descriptors.removeLast()) }
  }

  func giveBack() {
    for descriptor in descriptors { close(descriptor) }
  }
}
