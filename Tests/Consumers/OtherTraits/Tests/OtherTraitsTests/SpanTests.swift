import InMemoryTracing
import SharedStateRedisTesting
import Testing
import Tracing

/// The spans that the article "Metrics and traces" documents.
@Suite("Spans", .timeLimit(.minutes(5)))
struct SpanTests {
  private let tracer = InMemoryTracer()

  private var spans: [FinishedInMemorySpan] { tracer.finishedSpans }

  @Test("Each operation that waits for the server is a client span")
  func operations() async throws {
    let store = RedisStore.inProcess()
    @Shared(.redis("checkout:limit", store: store)) var limit = 1
    try await withTracer(tracer) {
      try await $limit.load()
      $limit.withLock { $0 = 2 }
      try await $limit.save()
      try await $limit.updateAtomically { $0 += 1 }
      try await $limit.reset()
    }
    let operations = ["load", "save", "updateAtomically", "reset"]
    #expect(spans.map(\.operationName) == operations.map { "shared_state.\($0)" })
    for span in spans {
      #expect(span.kind == .client)
      #expect(span.status == nil)
      #expect(span.attributes.get("db.system.name") == "redis")
      #expect(span.attributes.get("db.namespace") == "0")
      #expect(span.attributes.get("shared_state.name") == "checkout:limit")
      #expect(span.attributes.get("error.type") == nil)
      // The fake has no address.
      #expect(span.attributes.get("server.address") == nil)
    }
    // Nothing was stored before.
    #expect(spans[0].attributes.get("shared_state.revision") == nil)
    let revisions = spans[1...].map { revision(of: $0) }
    #expect(revisions.allSatisfy { $0 > 1_000_000_000_000_000 })
    #expect(revisions == Array(Set(revisions)).sorted())
    let stored = try await store.metadata(for: "checkout:limit")
    #expect(stored.map { Int64($0.revision) } == revisions.last)
    await store.shutdown(within: .seconds(5))
  }

  private func revision(of span: FinishedInMemorySpan) -> Int64 {
    if case .int64(let revision)? = span.attributes.get("shared_state.revision") { revision } else { 0 }
  }

  @Test("A span continues the trace of its caller")
  func parents() async throws {
    let store = RedisStore.inProcess()
    @Shared(.redis("limit", store: store)) var limit = 1
    try await withTracer(tracer) {
      try await withSpan("request") { _ in try await $limit.save() }
    }
    let save = try #require(spans.first { $0.operationName == "shared_state.save" })
    let request = try #require(spans.first { $0.operationName == "request" })
    #expect(save.parentSpanID == request.spanID)
    #expect(save.traceID == request.traceID)
    await store.shutdown(within: .seconds(5))
  }

  @Test("The span of a failed operation names the error and has no revision")
  func failures() async throws {
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    let limit = Shared(wrappedValue: 1, .redis("limit", store: store))
    try await limit.save()
    server.permit(keysWith: "others")
    await withTracer(tracer) {
      limit.withLock { $0 = 2 }
      await #expect(throws: RedisSharedStateError.self) { try await limit.save() }
      server.pause()
      let task = Task { try await limit.load() }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(spans.map { $0.attributes.get("error.type") } == ["permissionDenied", "CancellationError"])
    for span in spans {
      #expect(span.status?.code == .error)
      #expect(span.attributes.get("shared_state.revision") == nil)
    }
    server.resume()
    await store.shutdown(within: .zero)
  }

  @Test("A span has the address and the database of the server")
  func addresses() async throws {
    for address in PrivateRedisServer.Address.allCases {
      let tracer = InMemoryTracer()
      let server = try PrivateRedisServer(address)
      let database = address == .tcp ? "/2?" : "?database=2&"
      let store = RedisStore(try RedisConfiguration(url: "\(server.url)\(database)namespace=shop:"))
      @Shared(.redis("limit", store: store)) var limit = 1
      try await withTracer(tracer) { try await $limit.save() }
      let span = try #require(tracer.finishedSpans.first)
      #expect(span.attributes.get("db.namespace") == "2")
      #expect(span.attributes.get("shared_state.name") == "limit")
      if case .string(let address)? = span.attributes.get("server.address") { #expect(server.url.contains(address)) }
      #expect(span.attributes.get("server.address") != nil)
      if case .int64(let port)? = span.attributes.get("server.port") { #expect(server.url.contains(":\(port)")) }
      #expect((span.attributes.get("server.port") != nil) == (address == .tcp))
      await store.shutdown(within: .seconds(5))
    }
  }
}
