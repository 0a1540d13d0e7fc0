import Foundation
import ServiceLifecycle
import ServiceLifecycleTestKit
import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateRedisTesting
import SharedStateServiceLifecycle
import Testing

@Suite("A store that is a service", .timeLimit(.minutes(5)), .endsStores)
struct StoreServiceTests {
  private static let hour = Duration.seconds(3_600)

  /// A store that waits at its end for so long, and for an hour otherwise.
  private func store(_ backend: any Backend, shutdownTimeout: Duration = hour) throws -> RedisStore {
    try backend.store { configuration in
      configuration.shutdownTimeout = shutdownTimeout
      configuration.operationTimeout = Self.hour
    }
  }

  @Test("A store service connects and runs until its graceful shutdown", arguments: BackendKind.allCases)
  func connects(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try store(backend)
    #expect(store.health == .neverConnected(reason: nil))
    try await testGracefulShutdown { trigger in
      async let running: Void = store.run()
      try await eventually("the store is live") { store.health == .live }
      #expect(try backend.isConnected(.writer, of: "service"))
      trigger.triggerGracefulShutdown()
      try await running
    }
    #expect(store.health == .stopped)
  }

  @Test("A store service delivers pending changes before it ends", arguments: BackendKind.allCases)
  func delivers(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try store(backend)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    try backend.pause()
    $count.withLock { $0 = 1 }
    try await testGracefulShutdown { trigger in
      async let running: Void = store.run()
      trigger.triggerGracefulShutdown()
      try backend.resume()
      try await running
    }
    #expect(try backend.get("count") == "1")
    #expect(store.status == .stopped)
  }

  @Test("A store service reports how many values were not delivered in time", arguments: BackendKind.allCases)
  func undelivered(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try store(backend, shutdownTimeout: .milliseconds(20))
    let shares = (0..<3).map { Shared(wrappedValue: 0, .redis("value\($0)", store: store)) }
    for share in shares { try await share.load() }
    try backend.goDown()
    for share in shares.dropLast() { for number in 1...3 { share.withLock { $0 = number } } }
    await testGracefulShutdown { trigger in
      trigger.triggerGracefulShutdown()
      let error = RedisSharedStateError.undelivered(values: 2)
      await #expect(throws: error) { try await inTime("the end") { try await store.run() } }
    }
    #expect(store.status == .stopped)
  }

  @Test("A cancelled store service stops immediately", arguments: BackendKind.allCases)
  func cancelled(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try store(backend)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    let idle = Task { try await store.run() }
    idle.cancel()
    await #expect(throws: CancellationError.self) { try await inTime("the end") { try await idle.value } }
    #expect(store.status == .stopped)
  }

  @Test(
    "A store service that is cancelled during delivery stops immediately and reports the undelivered values",
    .dependency(\.reportsUnreadErrors, false)
  )
  func cancelledWhileDelivering() async throws {
    let backend = FakeBackend()
    let store = try store(backend)
    @Shared(.redis("count", store: store)) var count = 0
    let number = Shared(wrappedValue: 0.5, .redis("number", store: store))
    try await $count.load()
    try await number.load()
    // A change that is given up, because it cannot be encoded.
    number.withLock { $0 = .infinity }
    try await number.status { $0.saveError != nil }
    backend.pause()
    $count.withLock { $0 = 1 }
    await testGracefulShutdown { trigger in
      let running = Task { try await store.run() }
      trigger.triggerGracefulShutdown()
      running.cancel()
      let error = RedisSharedStateError.undelivered(values: 2)
      await #expect(throws: error) { try await inTime("the end") { try await running.value } }
    }
    #expect(store.status == .stopped)
  }

  /// Changes a value when it is to end.
  private struct LateChange: Service {
    let share: Shared<Int>

    func run() async throws {
      try await gracefulShutdown()
      share.withLock { $0 = 7 }
    }
  }

  /// Changes a value, and fails.
  private struct Failure: Service {
    let share: Shared<Int>

    func run() async throws {
      share.withLock { $0 = 7 }
      throw CocoaError(.fileReadUnknown)
    }
  }

  @Test("A service group that shuts down gracefully when a service fails delivers what that has changed")
  func failingService() async throws {
    let backend = FakeBackend()
    let store = try store(backend)
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    try await share.load()
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [
          .init(service: store),
          .init(
            service: Failure(share: share),
            successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup
          ),
        ],
        logger: quiet
      )
    )
    await #expect(throws: CocoaError.self) { try await group.run() }
    #expect(backend.get("count") == "7")
  }

  @Test("A service group ends a store after the services that follow it, and their last changes are delivered")
  func order() async throws {
    let backend = FakeBackend()
    let store = try store(backend)
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    let group = ServiceGroup(services: [store, LateChange(share: share)], logger: quiet)
    async let running: Void = group.run()
    try await share.load()
    await group.triggerGracefulShutdown()
    try await running
    #expect(backend.get("count") == "7")
  }
}
