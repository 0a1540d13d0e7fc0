import Foundation
import Logging
import SharedState
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("A store", .timeLimit(.minutes(5)), .endsStores)
struct RedisStoreTests {
  @Test("A store keeps a value as a plain JSON document that any tool can read", arguments: BackendKind.allCases)
  func plainDocument(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("limits", store: store)) var limits = Limits()
    $limits.withLock { $0 = Limits(maximum: 20, note: "ein Wort – “quoted”") }
    try await $limits.save()
    let document = try #require(try backend.get("limits"))
    #expect(try JSONDecoder().decode(Limits.self, from: Data(document.utf8)) == limits)
  }

  @Test("A status is published before its line is logged")
  func statusBeforeLog() async throws {
    for _ in 0..<50 {
      let observed = Mutex<RedisStore?>(nil)
      let healths = Mutex<[RedisStore.Health?]>([])
      defer { observed.withLock { $0 = nil } }
      let logger = Logger.calling { message in
        guard message.hasPrefix("Connected") else { return }
        let health = observed.withLock { $0?.health }
        healths.withLock { $0.append(health) }
      }
      let store = try FakeBackend().store(logger: logger)
      observed.withLock { $0 = store }
      store.connect()
      try await eventually("the connection is logged") { healths.withLock { !$0.isEmpty } }
      // A fake has one status, but before it is connected its store is not live.
      #expect(healths.withLock { $0 } == [.live])
      await store.shutdown(within: patience)
    }
  }

  @Test("The metadata of a value includes its writer, time and size", arguments: BackendKind.allCases)
  func metadata(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store("checkout")
    #expect(try await store.metadata(for: "count") == nil)
    let before = Date()
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 12_345 }
    try await $count.save()
    let metadata = try #require(try await store.metadata(for: "count"))
    #expect(metadata.revision > 0)
    #expect(metadata.size == 5)
    #expect(metadata.writtenBy?.hasPrefix("checkout@") == true)
    #expect(abs(try #require(metadata.writtenAt).timeIntervalSince(before)) < 60)
    try backend.set("foreign", "1")
    let foreign = try #require(try await store.metadata(for: "foreign"))
    #expect(foreign.revision == 0)
    #expect(foreign.writtenBy == nil)
  }

  @Test("An explicit save stores an unchanged default", arguments: BackendKind.allCases)
  func saveDefault(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 3
    try await $count.load()
    #expect(try backend.get("count") == nil)
    try await $count.save()
    #expect(try backend.get("count") == "3")
  }

  @Test("A required value is loaded first, and its absence is an error", arguments: BackendKind.allCases)
  func required(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    await #expect(throws: NothingStoredError.self) {
      _ = try await Shared<Int>(require: .redis("count", store: store))
    }
    try backend.set("count", "8")
    let count = try await Shared<Int>(require: .redis("count", store: store))
    #expect(count.wrappedValue == 8)
  }

  @Test("A load shows an external edit, and the default after a deletion", arguments: BackendKind.allCases)
  func loadShowsForeignEdits(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 1
    $count.withLock { $0 = 2 }
    try await $count.save()
    try backend.set("count", "9")
    try await $count.load()
    #expect(count == 9)
    try backend.delete("count")
    try await $count.load()
    #expect(count == 1)
  }

  @Test(
    "A reader follows the changes of a writer, and a reset returns both to their defaults",
    arguments: BackendKind.allCases
  )
  func readerFollows(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (writer, other) = (try backend.store("writer"), try backend.store("other"))
    @Shared(.redis("count", store: writer)) var count = 0
    @SharedReader(.redis("count", store: other)) var read = 5
    $count.withLock { $0 = 2 }
    try await $read.becomes(2)
    try await writer.flush(within: patience)
    try await $count.reset()
    try await $read.becomes(5)
    try await $count.becomes(0)
  }

  @Test("A shutdown delivers pending changes and then stops the store", arguments: BackendKind.allCases)
  func shutdown(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    for value in 1...100 { $count.withLock { $0 = value } }
    await store.shutdown(within: patience)
    #expect(store.status == .stopped)
    #expect(try backend.get("count") == "100")
    #expect(count == 100)
    $count.withLock { $0 = 101 }
    #expect(count == 101)
    try await $count.status { $0.saveError as? RedisSharedStateError == .stopped }
    await #expect(throws: RedisSharedStateError.changesGivenUp(names: ["count"], further: 0)) {
      try await store.flush(within: patience)
    }
    await #expect(throws: RedisSharedStateError.stopped) { try await $count.load() }
    await #expect(throws: RedisSharedStateError.stopped) { try await store.waitUntilConnected(within: patience) }
    @Shared(.redis("other", store: store)) var other = 0
    #expect($other.loadError as? RedisSharedStateError == .stopped)
  }

  @Test("A store that is shut down while it connects opens no second connection", arguments: BackendKind.allCases)
  func shutdownWhileConnecting(kind: BackendKind) async throws {
    let backend = try kind.make()
    let opening = Opening()
    let store = try backend.store { _ in
    } wrap: { base, purpose in
      opening.purposes.withLock { $0.append(purpose) }
      if purpose == .subscriber { _ = opening.mayGoOn.wait(timeout: .now() + 60) }
      return ClosingConnection(base, of: opening)
    }
    @Shared(.redis("count", store: store)) var count = 0
    try await eventually("the first connection is open") { opening.purposes.withLock { !$0.isEmpty } }
    await store.shutdown(within: .zero)
    opening.mayGoOn.signal()
    try await eventually("the first connection is closed") { opening.isOver.load(ordering: .acquiring) }
    #expect(opening.purposes.withLock(\.self) == [.subscriber])
  }

  /// The connections that a store opens.
  private final class Opening: Sendable {
    let purposes = Mutex<[ConnectionPurpose]>([])
    let mayGoOn = DispatchSemaphore(value: 0)
    let isOver = Atomic(false)
  }

  /// Notes that it is not used any more.
  private final class ClosingConnection: ForwardingConnection {
    private let opening: Opening

    init(_ base: any RedisConnection, of opening: Opening) {
      self.opening = opening
      super.init(base)
    }

    deinit { opening.isOver.store(true, ordering: .releasing) }
  }

  @Test("A task that waits for a load or a save can be cancelled")
  func cancellation() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    backend.redis.pause()
    let loading = Task { [$count] in try await $count.load() }
    let saving = Task { [$count] in try await $count.save() }
    let flushing = Task { try await store.flush(within: patience) }
    for task in [loading, saving, flushing] { task.cancel() }
    for task in [loading, saving] { await #expect(throws: CancellationError.self) { try await task.value } }
    _ = await flushing.result
    backend.redis.resume()
    try await store.flush(within: patience)
  }

  @Test("All shares of one name in one store have the same value")
  func oneBox() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var first = 0
    @Shared(.redis("count", store: store)) var second = 7
    #expect(second == 0)
    $second.withLock { $0 = 3 }
    #expect(first == 3)
  }

  @Test("A store without shares closes its connections, and connects again when needed")
  func rests() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    for round in 1...3 {
      do {
        @Shared(.redis("count", store: store)) var count = 0
        try await $count.load()
        #expect(backend.redis.clients.count == 2)
        $count.withLock { $0 = round }
      }
      // The connections close when their threads notice.
      try await eventually("the end of the connections") { backend.redis.clients.isEmpty }
      #expect(backend.redis.get("count") == "\(round)")
    }
  }

  @Test("The statuses of a store end with 'stopped' at its shutdown")
  func statuses() async throws {
    let backend = try ServerBackend()
    let store = try backend.store()
    try await store.waitUntilConnected(within: patience)
    backend.goDown()
    try await store.isDown()
    try backend.comeBack()
    try await store.isUp()
    async let last = inTime("the end of the statuses", found: { "\(store.status)" }) {
      var last: RedisStore.Status?
      for await status in store.statuses { last = status }
      return last
    }
    await store.shutdown(within: patience)
    #expect(try await last == .stopped)
  }
}

@Suite("The store of the environment", .timeLimit(.minutes(5)), .endsStores)
struct EnvironmentTests {
  @Test("The store of the environment is in process without REDIS_URL")
  func inProcess() throws {
    #expect(try RedisStore.fromEnvironment(environment: [:]).status == .inProcess)
    #expect(try RedisStore.fromEnvironment(environment: ["REDIS_URL": ""]).status == .inProcess)
  }

  @Test("A missing REDIS_URL is an error where a server is required")
  func required() {
    #expect(throws: RedisSharedStateError.serverRequired) {
      try RedisStore.fromEnvironment(requireServer: true, environment: [:])
    }
  }

  @Test("The default store can be replaced until it is used")
  func replaced() throws {
    let store = RedisStore.inProcess(InProcessRedis())
    try RedisStore.setDefault(store)
    #expect(RedisStore.default === store)
    #expect(throws: RedisSharedStateError.defaultInUse) { try RedisStore.setDefault(.inProcess(InProcessRedis())) }
    #expect(RedisStore.default === store)
  }

  @Test("The default store cannot be replaced once a share uses it")
  func used() {
    let store = RedisStore.default
    @Shared(.redis("count")) var count = 0
    #expect(throws: RedisSharedStateError.defaultInUse) { try RedisStore.setDefault(.inProcess(InProcessRedis())) }
    #expect(RedisStore.default === store)
  }

  @Test("A malformed REDIS_URL is an error, not a fallback to the in-process store")
  func malformed() {
    #expect(throws: RedisSharedStateError.self) {
      try RedisStore.fromEnvironment(environment: ["REDIS_URL": "http://user:secret@host"])
    }
  }

  @Test("The store of the environment connects to the server of REDIS_URL")
  func server() async throws {
    let backend = try ServerBackend()
    let store = try RedisStore.fromEnvironment(logger: quiet, environment: ["REDIS_URL": backend.server.url])
      .endingWithTest
    try await store.waitUntilConnected(within: patience)
    #expect(store.status == .connected)
    #expect(try backend.server.command("CLIENT", "LIST").text?.contains(":subscriber ") == true)
  }

  @Test("A closure changes the configuration of the environment and keeps the rest of it")
  func configured() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "password-\(UUID().uuidString)")
    try Data("hunter2\n".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let environment = ["REDIS_URL": "redis://127.0.0.1:1?namespace=shop:", "REDIS_PASSWORD_FILE": file.path]
    var (credentials, namespace): (RedisCredentials?, String?)
    let store = try RedisStore.fromEnvironment(requireServer: true, logger: quiet, environment: environment) {
      credentials = try? $0.credentialsProvider?()
      namespace = $0.namespace
      $0.access = .readOnly
      $0.shutdownTimeout = .seconds(7)
    }.endingWithTest
    #expect(credentials == RedisCredentials(password: "hunter2"))
    #expect(namespace == "shop:")
    #expect(store.access == .readOnly)
    #expect(store.shutdownTimeout == .seconds(7))
  }

  @Test("A closure changes the configuration of the fake, and makes a store of its own")
  func configuredFake() throws {
    let store = try RedisStore.fromEnvironment(logger: quiet, environment: [:]) { $0.access = .readOnly }.endingWithTest
    #expect(store.status == .inProcess)
    #expect(store.access == .readOnly)
    let other = try RedisStore.fromEnvironment { $0.access = .readOnly }.endingWithTest
    #expect(other !== RedisStore.default)
    #expect(other.access == .readOnly)
  }

  @Test("Every test has a fresh default store", arguments: 1...3)
  func freshInTests(number: Int) async throws {
    @Shared(.redis("count")) var count = 0
    try await $count.load()
    #expect(count == 0)
    $count.withLock { $0 = number }
    try await $count.save()
    @Dependency(\.defaultRedisStore) var store
    #expect(store.status == .inProcess)
    #expect(try await store.metadata(for: "count")?.size == 1)
  }
}

@Suite("A program that needs the store of the environment", .timeLimit(.minutes(5)), .endsStores)
struct EnvironmentExitTests {
  @Test("A program without REDIS_URL writes the reason to standard error and exits with 78")
  func missing() async {
    let result = await #expect(processExitsWith: .exitCode(78), observing: [\.standardErrorContent]) {
      Watchdog.start(endingWith: 1)
      unsetenv("REDIS_URL")
      RedisStore.fromEnvironmentOrExit()
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("\(RedisSharedStateError.serverRequired)\n"))
  }

  @Test("A program with a wrong REDIS_URL writes the reason without the URL, and exits with 78")
  func wrong() async {
    let result = await #expect(processExitsWith: .exitCode(78), observing: [\.standardErrorContent]) {
      Watchdog.start(endingWith: 1)
      setenv("REDIS_URL", "http://:hunter2@h", 1)
      RedisStore.fromEnvironmentOrExit { $0.access = .readOnly }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("The Redis URL is not usable: it does not start with redis://"))
    #expect(!text.contains("hunter2"))
  }
}
