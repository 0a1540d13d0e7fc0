import ConfigurationSharedState
import ServiceLifecycleTestKit
import SharedStateRedisTesting
import SharedStateServiceLifecycle
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
    await #expect(throws: RedisSharedStateError.Code.rejected) { try await $limit.save() }
    #expect(limit == 10)
  }

  @Test("A value that is too large is not sent")
  func valueTooLarge() async throws {
    let options = RedisSharedKey<String>.Options(maximumBytes: 100)
    @Shared(.redis("banner", store: .inProcess(), options: options)) var banner = ""
    $banner.withLock { $0 = String(repeating: "x", count: 200) }
    await #expect(throws: RedisSharedStateError.Code.valueTooLarge) { try await $banner.save() }
  }

  @Test("A value that cannot be encoded is not sent, and a flush names it")
  func encodingFailed() async throws {
    let store = RedisStore.inProcess()
    @Shared(.redis("ratio", store: store)) var ratio = 0.5
    $ratio.withLock { $0 = .infinity }
    await #expect(throws: RedisSharedStateError.Code.encodingFailed) { try await $ratio.save() }
    let flushed = await #expect(throws: RedisSharedStateError.Code.changesGivenUp) {
      try await store.flush(within: .seconds(10))
    }
    #expect(flushed?.names == ["ratio"])
  }

  @Test("A document that cannot be read leaves the value as it was")
  func undecodable() async throws {
    let server = InProcessRedis()
    server.set("limit", "no number")
    @Shared(.redis("limit", store: .inProcess(server))) var limit = 10
    await #expect(throws: RedisSharedStateError.Code.undecodable) { try await $limit.load() }
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
    await #expect(throws: RedisSharedStateError.Code.conflict) { try await $mine.save() }
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
    await #expect(throws: RedisSharedStateError.Code.readOnly) { try await $limit.save() }
  }

  @Test("A user without rights to a key cannot read it")
  func permissionDenied() async throws {
    let server = InProcessRedis()
    server.permit(keysWith: "flags")
    @Shared(.redis("limit", store: .inProcess(server))) var limit = 10
    await #expect(throws: RedisSharedStateError.Code.permissionDenied) { try await $limit.load() }
  }

  @Test("A wrong password is reported immediately")
  func authenticationFailed() async throws {
    let server = InProcessRedis()
    server.refuseConnections(.authenticationFailed)
    let store = RedisStore.inProcess(server)
    await #expect(throws: RedisSharedStateError.Code.authenticationFailed) {
      try await store.waitUntilConnected(within: .seconds(10))
    }
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
    await #expect(throws: RedisSharedStateError.Code.unreachable) {
      try await $limit.load(within: .milliseconds(10))
    }
    await store.shutdown(within: .zero)
  }

  @Test(
    "Whatever keeps a store from connecting is in its status",
    arguments: [
      RedisSharedStateError.tlsFailed(reason: "the certificate has expired"), .unsupported(feature: "TLS"),
      .protocolViolation(reason: "a reply has an unknown type"), .moved, .outOfThreads(reason: "the limit is reached"),
    ]
  )
  func notConnected(error: RedisSharedStateError) async throws {
    let server = InProcessRedis()
    server.refuseConnections(error)
    let store = RedisStore.inProcess(server)
    try? await store.waitUntilConnected(within: .milliseconds(10))  // a store on the fake connects when it is used
    try await store.statuses.first(within: .seconds(10)) { status in
      if case .reconnecting(_, let found) = status { found.code == error.code } else { false }
    }
    await store.shutdown(within: .zero)
  }

  @Test("A server that does not answer ends a load with its time-out")
  func timedOut() async throws {
    let server = InProcessRedis()
    @Shared(.redis("limit", store: .inProcess(server))) var limit = 10
    try await $limit.load()
    server.pause()
    await #expect(throws: RedisSharedStateError.Code.timedOut) {
      try await $limit.load(within: .milliseconds(10))
    }
    server.resume()
  }

  @Test("Without a reply, it is unknown whether an atomic update took effect")
  func outcomeUnknown() async throws {
    let server = InProcessRedis()
    @Shared(.redis("stock", store: .inProcess(server))) var stock = 10
    try await $stock.save()
    server.pause()
    await #expect(throws: RedisSharedStateError.Code.outcomeUnknown) {
      try await $stock.updateAtomically(within: .seconds(2)) { $0 -= 1 }
    }
    server.resume()
  }

  @Test("A change that no replica has is stored, but not replicated")
  func notReplicated() async throws {
    let server = try PrivateRedisServer()
    let store = RedisStore(try RedisConfiguration(url: server.url))
    @Shared(.redis("limit", store: store)) var limit = 10
    $limit.withLock { $0 = 20 }
    await #expect(throws: RedisSharedStateError.Code.notReplicated) {
      try await $limit.save(replicas: 1, within: .seconds(1))
    }
    await store.shutdown(within: .seconds(5))
  }

  @Test("A connection that breaks is the reason why a store reconnects")
  func disconnected() async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    @Shared(.redis("limit", store: store)) var limit = 10
    try await $limit.load()
    server.pause()  // so that the store cannot reconnect yet
    server.cutConnections()
    try await store.statuses.first(within: .seconds(10)) { status in
      if case .reconnecting(_, let error) = status { error.code == .disconnected } else { false }
    }
    server.resume()
    try await $limit.load()
  }

  @Test("A server whose memory is full refuses a change, and accepts it later")
  func serverError() async throws {
    let server = InProcessRedis()
    @Shared(.redis("limit", store: .inProcess(server))) var limit = 10
    try await $limit.load()
    server.refuseWrites()
    $limit.withLock { $0 = 20 }
    await #expect(throws: RedisSharedStateError.Code.serverError) { try await $limit.save(within: .seconds(1)) }
    server.acceptWrites()
    try await $limit.save()
    #expect(server.get("limit") == "20")
  }

  @Test("A server that has become a replica stores no change until it is a primary again")
  func notPrimary() async throws {
    let server = InProcessRedis()
    @Shared(.redis("limit", store: .inProcess(server))) var limit = 10
    try await $limit.load()
    server.demote()
    $limit.withLock { $0 = 20 }
    await #expect(throws: RedisSharedStateError.Code.notPrimary) { try await $limit.save(within: .seconds(1)) }
    server.promote()
    try await $limit.save()
    #expect(server.get("limit") == "20")
  }

  @Test("A service that cannot deliver a change says so at its end")
  func undelivered() async throws {
    let server = InProcessRedis()
    var configuration = RedisConfiguration.inProcess
    configuration.shutdownTimeout = .milliseconds(20)
    let store = RedisStore.inProcess(server, configuration: configuration)
    @Shared(.redis("limit", store: store)) var limit = 10
    try await $limit.load()
    server.pause()
    $limit.withLock { $0 = 20 }
    await testGracefulShutdown { trigger in
      trigger.triggerGracefulShutdown()
      await #expect(throws: RedisSharedStateError.Code.undelivered) { try await store.run() }
    }
  }

  @Test("A store that was shut down says so")
  func stopped() async throws {
    let store = RedisStore.inProcess()
    await store.shutdown(within: .seconds(5))
    await #expect(throws: RedisSharedStateError.Code.stopped) {
      try await store.waitUntilConnected(within: .seconds(10))
    }
  }

  // MARK: The configuration

  @Test("A wrong configuration is an error before the store connects")
  func configuration() {
    #expect(throws: RedisSharedStateError.Code.invalidURL) { try RedisConfiguration(url: "http://localhost") }
    #expect(throws: RedisSharedStateError.Code.invalidName) {
      try RedisConfiguration(host: "localhost", label: "a b")
    }
    #expect(throws: RedisSharedStateError.Code.serverRequired) {
      try RedisStore.fromEnvironment(requireServer: true, environment: [:])
    }
  }

  @Test("A provider needs a document")
  func notStored() async {
    await #expect(throws: RedisSharedStateError.Code.notStored) {
      try await SharedStateProvider("checkout:config", store: .inProcess())
    }
  }

  @Test("The default store cannot be replaced once it is used")
  func defaultInUse() {
    @Shared(.redis("limit")) var limit = 10
    #expect(throws: RedisSharedStateError.Code.defaultInUse) { try RedisStore.setDefault(.inProcess()) }
    #expect(limit == 10)
  }
}
