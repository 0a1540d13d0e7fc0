import Configuration
import ConfigurationSharedState
import ConfigurationTesting
import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting
import Testing

@Suite("A provider of swift-configuration", .timeLimit(.minutes(5)), .endsStores)
struct SharedStateProviderTests {
  /// The document that the suite of swift-configuration asks for.
  private static let canned = """
    {
      "string": "Hello", "int": 42, "double": 3.14, "bool": true, "bytes": "bWFnaWM=",
      "stringy": {"array": ["Hello", "World"]}, "inty": {"array": [42, 24]}, "doubly": {"array": [3.14, 2.72]},
      "booly": {"array": [true, false]}, "byteChunky": {"array": ["bWFnaWM=", "bWFnaWMy"]},
      "other": {
        "string": "Other Hello", "int": 24, "double": 2.72, "bool": false, "bytes": "bWFnaWMy",
        "stringy": {"array": ["Hello", "Swift"]}, "inty": {"array": [16, 32]}, "doubly": {"array": [0.9, 1.8]},
        "booly": {"array": [false, true, true]}, "byteChunky": {"array": ["bWFnaWM=", "bWFnaWMy", "bWFnaWM="]}
      }
    }
    """

  private static let limits = #"{"maximum":20,"note":"stored"}"#

  @Test("A provider passes the compatibility suite of swift-configuration", arguments: BackendKind.allCases)
  func compatibility(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("config", Self.canned)
    let provider = try await SharedStateProvider("config", store: try backend.store())
    try await ProviderCompatTest(provider: provider).runTest()
    #expect(provider.providerName == "SharedStateProvider[config]")
    #expect("\(provider)" == provider.providerName)
  }

  @Test("A provider notifies watchers of changes as the contract requires", arguments: BackendKind.allCases)
  func changes(kind: BackendKind) async throws {
    let backend = try kind.make()
    let provider = try await SharedStateProvider("config", store: try backend.store(), allowMissing: true)
    let contract = WatchedChangesContract(provider: provider) { document in
      try backend.set("config", document)
      // Reads the document.
      _ = try await provider.fetchValue(forKey: "absent", type: .string)
    }
    try await contract.check()
  }

  @Test("A provider sees changes made by others without fetching", arguments: BackendKind.allCases)
  func announced(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (service, other) = (try backend.store(), try backend.store("other"))
    try backend.set("config", Self.limits)
    let provider = try await SharedStateProvider("config", store: service)
    @Shared(.redis("config", store: other)) var limits = Limits()
    try await $limits.load()
    $limits.withLock { $0.maximum = 30 }
    try await provider.becomes(30)
    // As `redis-cli SET` does.
    try backend.set("config", #"{"maximum":40}"#)
    try await provider.becomes(40)
    #expect(provider.loadError == nil)
  }

  @Test("A provider and shares of the same document can share a store", arguments: BackendKind.allCases, [true, false])
  func sharedStore(kind: BackendKind, isFirst: Bool) async throws {
    let backend = try kind.make()
    try backend.set("config", Self.limits)
    let store = try backend.store()
    let early = isFirst ? try await SharedStateProvider("config", store: store) : nil
    @Shared(.redis("config", store: store)) var limits = Limits()
    try await $limits.load()
    let late = try await SharedStateProvider("config", store: store, options: .init(secretsSpecifier: .all))
    for round in 30...40 {
      $limits.withLock { $0.maximum = round }
      for provider in [early, late].compactMap({ $0 }) { try await provider.becomes(round) }
    }
    #expect($limits.loadError == nil && $limits.saveError == nil)
    #expect(early?.loadError == nil && late.loadError == nil)
    // Each has options of its own.
    #expect(try early?.value(forKey: "note", type: .string).value?.isSecret != true)
    #expect(try late.value(forKey: "note", type: .string).value?.isSecret == true)

    // Shares of two types still exclude each other, and the error names the share, not the provider.
    let mistaken = Shared(wrappedValue: 0, .redis("config", store: store))
    let error = await #expect(throws: RedisSharedStateError.self) { try await mistaken.load() }
    #expect(error?.code == .valueTypeMismatch)
    #expect(error?.description.contains("SharedStateProviderTests.swift") == true, "\(String(describing: error))")
  }

  @Test(
    "A provider keeps the last good snapshot when a document cannot be mapped",
    arguments: BackendKind.allCases,
    [
      "nonsense hunter2", #"["hunter2"]"#, #""hunter2""#, #"{"list":[1,"hunter2"]}"#, #"{"list":["hunter2",{}]}"#,
      #"{"list":[{"hunter":"hunter2"}]}"#, #"{"text":"hunter2"#,
    ]
  )
  func unmappable(kind: BackendKind, document: String) async throws {
    let backend = try kind.make()
    try backend.set("config", Self.limits)
    let provider = try await SharedStateProvider("config", store: try backend.store())
    try backend.set("config", document)
    let error = await #expect(throws: RedisSharedStateError.self) {
      _ = try await provider.fetchValue(forKey: "maximum", type: .int)
    }
    #expect(error?.code == .undecodable)
    #expect(error?.description.contains("hunter2") == false, "\(String(describing: error))")
    try await eventually("the error shows") { provider.loadError == error }
    #expect(try provider.maximum == 20)
    #expect(try provider.snapshot().value(forKey: "note", type: .string).value == "stored")

    // A provider does not begin with such a document.
    let refused = await #expect(throws: RedisSharedStateError.self) {
      _ = try await SharedStateProvider("config", store: try backend.store("other"), allowMissing: true)
    }
    #expect(refused?.code == .undecodable)

    try backend.set("config", #"{"maximum":30}"#)
    try await provider.becomes(30)
    try await eventually("the error goes away") { provider.loadError == nil }
  }

  @Test(
    "A provider keeps the last good snapshot if the key has another type or the document is too large",
    arguments: BackendKind.allCases
  )
  func unreadable(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("config", Self.limits)
    let provider = try await SharedStateProvider("config", store: try backend.store())
    try backend.setList("config")
    try await eventually("the list shows") { provider.loadError?.code == .undecodable }
    #expect(try provider.maximum == 20)
    try backend.set("config", #"{"maximum":"\#(String(repeating: "x", count: 1 << 20))"}"#)
    try await eventually("the size shows") { provider.loadError?.code == .valueTooLarge }
    #expect(try provider.maximum == 20)
  }

  @Test(
    "A provider refuses to start without a document, unless the document may be missing",
    arguments: BackendKind.allCases
  )
  func missing(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    let error = await #expect(throws: RedisSharedStateError.self) {
      _ = try await SharedStateProvider("config", store: store)
    }
    #expect(error == .notStored(name: "config"))
    let lenient = try await SharedStateProvider("config", store: store, allowMissing: true)
    #expect(try lenient.maximum == nil)
    #expect(lenient.loadError == nil)
    try backend.set("config", Self.limits)
    try await lenient.becomes(20)
    let strict = try await SharedStateProvider("config", store: store)
    #expect(try strict.maximum == 20)

    try backend.delete("config")
    try await lenient.becomes(nil)
    #expect(lenient.loadError == nil)
    // The last good snapshot stays.
    try await eventually("the deletion shows") { strict.loadError == .notStored(name: "config") }
    #expect(try strict.maximum == 20)
    try backend.set("config", #"{"maximum":30}"#)
    try await strict.becomes(30)
    try await eventually("the error goes away") { strict.loadError == nil }
  }

  @Test(
    "A provider keeps its snapshot while Redis is unreachable, and catches up afterwards",
    arguments: BackendKind.allCases
  )
  func outage(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("config", Self.limits)
    let store = try backend.store { $0.operationTimeout = .milliseconds(50) }
    // On a busy machine, the server may take longer than that.
    let provider = try await inTime("the document") {
      while true {
        do {
          return try await SharedStateProvider("config", store: store)
        } catch RedisSharedStateError.Code.timedOut {}
      }
    }
    try backend.goDown()
    try await store.isDown()
    try await eventually("the outage shows") { provider.loadError != nil }
    #expect(try provider.maximum == 20)
    await #expect(throws: RedisSharedStateError.self) {
      _ = try await provider.fetchValue(forKey: "note", type: .string)
    }
    await #expect(throws: RedisSharedStateError.self) {
      _ = try await SharedStateProvider("config", store: store, allowMissing: true)
    }
    #expect(try provider.maximum == 20)
    try backend.comeBack()
    try await store.isUp()
    try backend.set("config", #"{"maximum":30}"#)
    try await provider.becomes(30)
    try await eventually("the error goes away") { provider.loadError == nil }
  }

  @Test("A provider with an invalid name or a stopped store is refused", arguments: BackendKind.allCases)
  func unusable(kind: BackendKind) async throws {
    let store = try kind.make().store()
    let error = await #expect(throws: RedisSharedStateError.self) {
      _ = try await SharedStateProvider("", store: store)
    }
    #expect(error?.code == .invalidName)
    await store.shutdown(within: .seconds(5))
    await #expect(throws: RedisSharedStateError.stopped) { _ = try await SharedStateProvider("config", store: store) }
  }

  @Test(
    "A provider never writes, neither to assign a revision to an edit nor to restore a lost value",
    arguments: BackendKind.allCases
  )
  func neverWrites(kind: BackendKind) async throws {
    let backend = try kind.makeForgetful()
    let meta = KeyNames(namespace: "", name: "config", database: 0).meta
    let store = try backend.store()
    let provider = try await SharedStateProvider("config", store: store, allowMissing: true)
    for maximum in 1...3 {
      try backend.set("config", #"{"maximum":\#(maximum)}"#)
      try await provider.becomes(maximum)
    }
    #expect(try backend.get(meta) == nil)

    // A version that another service has made, and that the server loses.
    do {
      @Shared(.redis("config", store: try backend.store("other"))) var limits = Limits()
      try await $limits.load()
      $limits.withLock { $0.maximum = 20 }
      try await $limits.save()
    }
    try await provider.becomes(20)
    try backend.restartFromDump()
    try await eventually("the provider has read the server") {
      // The connection may break now.
      (try? await provider.fetchValue(forKey: "maximum", type: .int)) != nil
        && (try? backend.get("config")) == .some(nil)
    }
    #expect(try provider.maximum == 20)
    #expect(try backend.get("config") == nil)
    #expect(try backend.get(meta) == nil)
  }

  @Test("A provider needs only the right to read")
  func readOnly() async throws {
    let server = try PrivateRedisServer()
    let rules = ServerVersion.rights(try RedisAccess.rules(user: "display", namespace: "shop:", access: .readOnly))
    let arguments = rules.split(separator: " ").map(String.init) + [">secret"]
    try #require(try server.command(arguments.map { Data($0.utf8) }).text == "OK")
    _ = try server.command("SET", "shop:config", Self.limits)
    var configuration = try RedisConfiguration(
      host: "127.0.0.1",
      port: Int(server.port),
      credentials: RedisCredentials(user: "display", password: "secret"),
      namespace: "shop:"
    )
    configuration.retryQuickly(label: "display")
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    let provider = try await SharedStateProvider("config", store: store)
    #expect(try provider.maximum == 20)
    _ = try server.command("SET", "shop:config", #"{"maximum":30}"#)
    try await provider.becomes(30)
    #expect(provider.loadError == nil)
  }

  @Test("A store releases a provider once its copies and watchers are gone", arguments: BackendKind.allCases)
  func forgotten(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("config", Self.limits)
    let store = try backend.store()
    do {
      let provider = try await SharedStateProvider("config", store: store)
      try await provider.watchValue(forKey: "maximum", type: .int) { updates in
        var updates = updates.makeAsyncIterator()
        let first = try await updates.next()?.get()
        #expect(first?.value == 20)
      }
      let watch = Task { try await provider.watchSnapshot { updates in for await _ in updates {} } }
      watch.cancel()
      try await inTime("the watch ends") { try await watch.value }
      #expect(store.confirmedRevision(of: "config") != nil)
    }
    try await eventually("the store has no share of it") { store.confirmedRevision(of: "config") == nil }
  }
}

extension SharedStateProvider {
  fileprivate var maximum: Int? {
    get throws {
      if case .int(let maximum)? = try value(forKey: "maximum", type: .int).value?.content { maximum } else { nil }
    }
  }

  /// Waits until the snapshot has this maximum.
  fileprivate func becomes(_ maximum: Int?, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await inTime("the maximum \(String(describing: maximum))", sourceLocation: sourceLocation) {
      try await watchSnapshot { updates in
        for await _ in updates where try self.maximum == maximum { return }
        throw CancellationError()
      }
    }
  }
}
