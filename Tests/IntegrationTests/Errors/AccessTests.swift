import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("Access to the server", .timeLimit(.minutes(5)), .endsStores)
struct AccessTests {
  @Test("The time of a credentials provider is no part of the time for connecting")
  func slowProvider() async throws {
    let server = try PrivateRedisServer(password: "right")
    var configuration = try RedisConfiguration(url: server.url)
    configuration.retryQuickly(label: "service")
    configuration.connectTimeout = .milliseconds(500)
    configuration.credentialsProvider = {
      // Longer than the store tries to connect.
      Thread.sleep(forTimeInterval: 0.6)
      return RedisCredentials(password: "right")
    }
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    try await store.waitUntilConnected(within: patience)
  }

  @Test("The credentials provider is called before each attempt, and only the type of its error is shown")
  func credentialsProvider() async throws {
    struct Hunter2: Error, CustomStringConvertible {
      let description = "hunter2"
    }
    let server = try PrivateRedisServer(password: "right")
    let password = Mutex<String?>(nil)
    var configuration = try RedisConfiguration(url: server.url.replacing("right", with: "overridden"))
    configuration.retryQuickly(label: "service")
    configuration.credentialsProvider = {
      guard let password = password.withLock({ $0 }) else { throw Hunter2() }
      return RedisCredentials(password: password)
    }
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    let count = Shared(wrappedValue: 0, .redis("count", store: store))
    try await store.status("a failure of the provider") { status in
      guard case .reconnecting(_, let error) = status, error.code == .unreachable else { return false }
      return error.description.contains("Hunter2") && !error.description.contains("hunter2")
    }
    password.withLock { $0 = "wrong" }
    try await store.isReconnecting(because: .authenticationFailed)
    password.withLock { $0 = "right" }
    try await store.isUp()
    count.withLock { $0 = 1 }
    try await count.save()
  }

  @Test("A wrong password causes an error immediately and is never shown")
  func wrongPassword() async throws {
    let backend = try ServerBackend(password: "right-password")
    var configuration = try RedisConfiguration(
      url: backend.server.url.replacingOccurrences(of: "right-password", with: "wrong-password")
    )
    configuration.retryQuickly(label: "service")
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    await #expect(throws: RedisSharedStateError.authenticationFailed) {
      try await store.waitUntilConnected(within: patience)
    }
    @Shared(.redis("count", store: store)) var count = 1
    try await $count.status { $0.loadError as? RedisSharedStateError == .authenticationFailed }
    #expect(!"\(String(describing: $count.loadError)) \(store.status) \(configuration)".contains("wrong-password"))
    $count.withLock { $0 = 2 }
    #expect(count == 2)
  }

  @Test("The right password is accepted with and without a user name")
  func rightPassword() async throws {
    let backend = try ServerBackend(
      password: "right-password",
      configuration: ["user alice on >wonder/land ~* &* +@all"]
    )
    let store = try backend.store()
    try await store.waitUntilConnected(within: patience)
    var alice = try RedisConfiguration(
      url: backend.server.url.replacingOccurrences(of: ":right-password@", with: "alice:wonder%2Fland@")
    )
    alice.retryQuickly(label: "alice")
    let aliceStore = RedisStore(alice, logger: quiet).endingWithTest
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: aliceStore)) var alices = 0
    $count.withLock { $0 = 1 }
    try await $alices.becomes(1)
  }

  @Test("A read-only user receives changes, keeps its own, and sees that saving them is not permitted")
  func readOnlyUser() async throws {
    let backend = try ServerBackend(
      configuration: ["user reader on >secret ~* &* +@all -@write -evalsha -eval -script"]
    )
    var configuration = try RedisConfiguration(
      url: backend.server.url.replacingOccurrences(of: "redis://", with: "redis://reader:secret@")
    )
    configuration.retryQuickly(label: "reader")
    let (writer, reader) = (try backend.store("writer"), RedisStore(configuration, logger: quiet).endingWithTest)
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    $written.withLock { $0 = 1 }
    try await $read.becomes(1)
    $read.withLock { $0 = 2 }
    try await $read.status { share in
      (share.saveError as? RedisSharedStateError)?.code == .permissionDenied
    }
    #expect(read == 2)
    #expect(try backend.get("count") == "1")
    #expect(reader.status == .connected)
  }

  @Test("A user without the right to subscribe gets an error on every load and save")
  func deafUser() async throws {
    let backend = try ServerBackend(configuration: ["user deaf on >secret ~* resetchannels +@all"])
    var configuration = try RedisConfiguration(
      url: backend.server.url.replacingOccurrences(of: "redis://", with: "redis://deaf:secret@")
    )
    configuration.retryQuickly(label: "deaf")
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.status { share in
      (share.loadError as? RedisSharedStateError)?.code == .permissionDenied
    }
    try await store.isUp()
    let subject = DeniedSubject(.channel, names: ["changes:{count}"])
    let error = RedisSharedStateError(.permissionDenied(operation: "SUBSCRIBE", subject: subject))
    #expect(error.description.contains("the channel 'changes:{count}'"))
    await #expect(throws: error) { try await $count.load() }
    await #expect(throws: error) { try await $count.save() }
  }

  @Test("A store without a server can read and change values, and reports that Redis is unreachable")
  func unreachable() async throws {
    var configuration = try RedisConfiguration(url: "unix:///nowhere/redis.sock")
    configuration.retryQuickly(label: "service")
    configuration.operationTimeout = .milliseconds(200)
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    @Shared(.redis("count", store: store)) var count = 1
    $count.withLock { $0 += 1 }
    #expect(count == 2)
    try await store.isDown()
    try await $count.status { share in
      (share.loadError as? RedisSharedStateError)?.code == .unreachable
    }
    await #expect(throws: RedisSharedStateError.self) { try await $count.load() }
    await #expect(throws: RedisSharedStateError.self) { try await $count.save() }
    await #expect(throws: RedisSharedStateError.self) { try await store.flush(within: .milliseconds(50)) }
    await #expect(throws: RedisSharedStateError.self) { try await store.waitUntilConnected(within: .milliseconds(50)) }
    #expect(store.pendingChanges == 1)
    await store.shutdown(within: .milliseconds(50))
    #expect(store.status == .stopped)
  }

  @Test("A write that the server refuses is retried until the server accepts it")
  func refusedWrite() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    backend.redis.refuseWrites(.serverError(code: "OOM"))
    $count.withLock { $0 = 1 }
    try await $count.status { $0.saveError as? RedisSharedStateError == .serverError(code: "OOM") }
    backend.redis.acceptWrites()
    try await store.flush(within: patience)
    #expect(backend.redis.get("count") == "1")
    try await $count.status { $0.saveError == nil }
  }
}
