import SharedStateRedisTesting
import Testing

@Suite("The article on testing errors", .timeLimit(.minutes(5)))
struct ErrorCodesArticleTests {
  // MARK: Values

  @Test("A value that breaks a rule is rejected")
  func rejected() async throws {
    struct TooSmall: Error {}
    let options = RedisSharedKey<Int>.Options { limit in
      guard limit > 0 else { throw TooSmall() }
    }
    @Shared(.redis("limit", store: .inProcess(), options: options)) var limit = 10
    try await $limit.load()
    $limit.withLock { $0 = 0 }
    let error = await #expect(throws: RedisSharedStateError.self) { try await $limit.save() }
    #expect(error?.code == .rejected)
    #expect(limit == 10)
  }

  @Test("A value that is too large is not sent")
  func valueTooLarge() async throws {
    let options = RedisSharedKey<String>.Options(maximumBytes: 100)
    @Shared(.redis("banner", store: .inProcess(), options: options)) var banner = ""
    $banner.withLock { $0 = String(repeating: "x", count: 200) }
    let error = await #expect(throws: RedisSharedStateError.self) { try await $banner.save() }
    #expect(error?.code == .valueTooLarge)
  }

  @Test("A value that cannot be encoded is not sent, and a flush names it")
  func encodingFailed() async throws {
    let store = RedisStore.inProcess()
    @Shared(.redis("ratio", store: store)) var ratio = 0.5
    $ratio.withLock { $0 = .infinity }
    let error = await #expect(throws: RedisSharedStateError.self) { try await $ratio.save() }
    #expect(error?.code == .encodingFailed)
    let flushed = await #expect(throws: RedisSharedStateError.self) { try await store.flush(within: .seconds(10)) }
    #expect(flushed?.code == .changesGivenUp)
    #expect(flushed?.names == ["ratio"])
  }

  @Test("A document that cannot be read leaves the value as it was")
  func undecodable() async throws {
    let server = InProcessRedis()
    server.set("limit", "no number")
    @Shared(.redis("limit", store: .inProcess(server))) var limit = 10
    let error = await #expect(throws: RedisSharedStateError.self) { try await $limit.load() }
    #expect(error?.code == .undecodable)
    #expect(limit == 10)
  }

  @Test("Of two changes, the later one is refused under the policy 'reject'")
  func conflict() async throws {
    let server = InProcessRedis()
    @Shared(.redis("limit", store: .inProcess(server))) var theirs = 10
    try await $theirs.save()

    server.pause()  // so that the change below is made before the stored value is read
    let options = RedisSharedKey<Int>.Options(conflict: .reject)
    @Shared(.redis("limit", store: .inProcess(server), options: options)) var mine = 10
    $mine.withLock { $0 = 20 }
    server.resume()
    let error = await #expect(throws: RedisSharedStateError.self) { try await $mine.save() }
    #expect(error?.code == .conflict)
  }

  @Test("A name has one type in a store")
  func valueTypeMismatch() {
    let store = RedisStore.inProcess()
    @Shared(.redis("limit", store: store)) var limit = 10
    @Shared(.redis("limit", store: store)) var text = "ten"
    #expect(($text.loadError as? RedisSharedStateError)?.code == .valueTypeMismatch)
    #expect(limit == 10)
  }

  // MARK: Rights and roles

  @Test("A service that only reads cannot save")
  func readOnly() async throws {
    var configuration = RedisConfiguration.inProcess
    configuration.access = .readOnly
    @Shared(.redis("limit", store: .inProcess(configuration: configuration))) var limit = 10
    let error = await #expect(throws: RedisSharedStateError.self) { try await $limit.save() }
    #expect(error?.code == .readOnly)
  }

  @Test("A user without rights to a key cannot read it")
  func permissionDenied() async throws {
    let server = InProcessRedis()
    server.permit(keysWith: "flags")
    @Shared(.redis("limit", store: .inProcess(server))) var limit = 10
    let error = await #expect(throws: RedisSharedStateError.self) { try await $limit.load() }
    #expect(error?.code == .permissionDenied)
  }

  @Test("A wrong password is reported immediately")
  func authenticationFailed() async throws {
    let server = InProcessRedis()
    server.refuseConnections(.authenticationFailed)
    let store = RedisStore.inProcess(server)
    let error = await #expect(throws: RedisSharedStateError.self) {
      try await store.waitUntilConnected(within: .seconds(10))
    }
    #expect(error?.code == .authenticationFailed)
    await store.shutdown(within: .seconds(5))
  }

  // MARK: The connection

  @Test("Without a server, a load says why there is no connection")
  func unreachable() async throws {
    let server = InProcessRedis()
    server.refuseConnections()
    let store = RedisStore.inProcess(server)
    @Shared(.redis("limit", store: store)) var limit = 10
    try await store.statuses.first(within: .seconds(10)) { if case .reconnecting = $0 { true } else { false } }
    let error = await #expect(throws: RedisSharedStateError.self) { try await $limit.load(within: .milliseconds(10)) }
    #expect(error?.code == .unreachable)
    await store.shutdown(within: .zero)
  }

  @Test("A server that does not answer ends a load with its time-out")
  func timedOut() async throws {
    let server = InProcessRedis()
    @Shared(.redis("limit", store: .inProcess(server))) var limit = 10
    try await $limit.load()
    server.pause()
    let error = await #expect(throws: RedisSharedStateError.self) { try await $limit.load(within: .milliseconds(10)) }
    #expect(error?.code == .timedOut)
    server.resume()
  }

  @Test("Without a reply, it is unknown whether an atomic update took effect")
  func outcomeUnknown() async throws {
    let server = InProcessRedis()
    @Shared(.redis("stock", store: .inProcess(server))) var stock = 10
    try await $stock.save()
    server.pause()
    let error = await #expect(throws: RedisSharedStateError.self) {
      try await $stock.updateAtomically(within: .seconds(2)) { $0 -= 1 }
    }
    #expect(error?.code == .outcomeUnknown)
    server.resume()
  }

  @Test("A change that no replica has is stored, but not replicated")
  func notReplicated() async throws {
    let server = try PrivateRedisServer()
    let store = RedisStore(try RedisConfiguration(url: server.url))
    @Shared(.redis("limit", store: store)) var limit = 10
    $limit.withLock { $0 = 20 }
    let error = await #expect(throws: RedisSharedStateError.self) {
      try await $limit.save(replicas: 1, within: .seconds(1))
    }
    #expect(error?.code == .notReplicated)
    await store.shutdown(within: .seconds(5))
  }

  @Test("A store that was shut down says so")
  func stopped() async throws {
    let store = RedisStore.inProcess()
    await store.shutdown(within: .seconds(5))
    let error = await #expect(throws: RedisSharedStateError.self) {
      try await store.waitUntilConnected(within: .seconds(10))
    }
    #expect(error?.code == .stopped)
  }

  // MARK: The configuration

  @Test("A wrong configuration is an error before the store connects")
  func configuration() {
    let url = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: "http://localhost") }
    #expect(url?.code == .invalidURL)
    let label = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(host: "localhost", label: "a b") }
    #expect(label?.code == .invalidName)
    let missing = #expect(throws: RedisSharedStateError.self) {
      try RedisStore.fromEnvironment(requireServer: true, environment: [:])
    }
    #expect(missing?.code == .serverRequired)
  }

  @Test("The default store cannot be replaced once it is used")
  func defaultInUse() {
    @Shared(.redis("limit")) var limit = 10
    let error = #expect(throws: RedisSharedStateError.self) { try RedisStore.setDefault(.inProcess()) }
    #expect(error?.code == .defaultInUse)
    #expect(limit == 10)
  }
}
