import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Names that the user may not access", .timeLimit(.minutes(5)), .endsStores)
struct ForbiddenNamesTests {
  enum Right: CaseIterable {
    case keys, channels
  }

  private func isForbidden(_ error: (any Error)?) -> Bool {
    (error as? RedisSharedStateError)?.code == .permissionDenied
  }

  @Test(
    "A forbidden name reports an error, and all other names are still read, written and announced",
    arguments: BackendKind.allCases,
    Right.allCases
  )
  func oneOfMany(kind: BackendKind, right: Right) async throws {
    let backend = try kind.make()
    try backend.permit(keys: right == .keys ? "open" : nil, channels: right == .channels ? "open" : nil)
    let (store, other) = (try backend.store("service"), try backend.store("other"))
    let open = (0..<40).map { Shared(wrappedValue: 0, .redis("open\($0)", store: store)) }
    let others = (0..<40).map { Shared(wrappedValue: 0, .redis("open\($0)", store: other)) }
    @Shared(.redis("closed", store: store)) var closed = 1
    $closed.withLock { $0 = 2 }
    for share in open + others { try await share.load() }
    try await $closed.status { self.isForbidden($0.loadError) && self.isForbidden($0.saveError) && !$0.isLoading }
    for (share, twin) in zip(open, others) {
      share.withLock { $0 = 5 }
      try await share.save()
      try await twin.becomes(5)
      try await twin.updateAtomically { $0 += 1 }
      try await share.becomes(6)
      #expect(share.loadError == nil && share.saveError == nil)
    }
    #expect(closed == 2)
    #expect(store.status == (backend.isInProcess ? .inProcess : .connected))
    let calls: [() async throws -> Void] = [{ try await $closed.load() }, { try await $closed.save() }]
    for call in calls {
      let error = await #expect(throws: RedisSharedStateError.self) { try await call() }
      #expect(isForbidden(error))
    }
    let error = await #expect(throws: RedisSharedStateError.self) { try await store.flush(within: patience) }
    #expect(isForbidden(error))
    // An explicit save tries again, and the change is not lost.
    try backend.permit(keys: nil, channels: nil)
    try await $closed.save()
    #expect(try backend.get("closed") == "2")
    #expect($closed.loadError == nil && $closed.saveError == nil)
  }

  @Test(
    "The error names the key and, on a Redis server, the patterns that the user may access",
    arguments: BackendKind.allCases
  )
  func keyAndPatterns(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store { $0.namespace = "shop:" }
    try backend.permit(keys: "open", channels: nil)
    @Shared(.redis("closed", store: store)) var closed = 1
    try await $closed.status { self.isForbidden($0.loadError) }
    $closed.withLock { $0 = 2 }
    for error in [$closed.loadError, await #expect(throws: RedisSharedStateError.self) { try await $closed.save() }] {
      let error = try #require(error as? RedisSharedStateError)
      #expect(error.name == "closed" && error.description.contains("shop:closed"))
      #expect(error.description.contains("It may access ~*open*") == !backend.isInProcess)
    }
  }

  @Test("A store that may not query its permissions tries only once per connection")
  func unknownPatterns() async throws {
    let backend = try ServerBackend(configuration: [
      "user default on nopass ~* &* +@all", "user bob on >p ~*open* &* +@all -acl",
    ])
    var configuration = try RedisConfiguration(
      url: backend.server.url.replacing("redis://", with: "redis://bob:p@")
    )
    configuration.retryQuickly(label: "bob")
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    for name in ["closed1", "closed2", "closed3"] {
      @Shared(.redis(name, store: store)) var closed = 1
      try await $closed.status { self.isForbidden($0.loadError) }
      let error = try #require($closed.loadError as? RedisSharedStateError)
      #expect(error.name == name && error.description.contains("'\(name)'") && !error.description.contains("open"))
      #expect(error.description.hasPrefix("User 'bob' lacks permission for "))
      #expect(error.description.contains(" on \(backend.server.url.dropFirst("redis://".count))"))
    }
    let asked = try backend.server.command("ACL", "LOG").elements.filter { entry in
      // 6.2 names the command only.
      entry.elements.contains { $0.text == "acl|getuser" || $0.text == "acl" }
    }
    #expect(asked.map { $0.elements[1].text } == ["1"])
  }

  @Test("A missing permission for a command is reported with the name of the command")
  func command() async throws {
    let backend = try ServerBackend(configuration: ["user default on nopass ~* &* +@all -strlen"])
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 1
    try await $count.status { self.isForbidden($0.loadError) }
    let error = try #require($count.loadError as? RedisSharedStateError)
    #expect(error == .permissionDenied(operation: "STRLEN") && error.description.contains("the command STRLEN"))
  }

  @Test("A permission that is granted later is noticed without a call", arguments: BackendKind.allCases)
  func permittedLater(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("closed", "7")
    try backend.permit(keys: "open", channels: "open")
    let store = try backend.store()
    @Shared(.redis("closed", store: store)) var closed = 1
    try await $closed.status { self.isForbidden($0.loadError) }
    try backend.permit(keys: nil, channels: nil)
    try await $closed.becomes(7)
    try await $closed.status { $0.loadError == nil }
  }

  @Test("A permission that is withdrawn later affects only its own value", arguments: BackendKind.allCases)
  func withdrawn(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store { $0.antiEntropyInterval = .milliseconds(50) }
    @Shared(.redis("open", store: store)) var open = 1
    @Shared(.redis("closed", store: store)) var closed = 1
    try await $open.save()
    try await $closed.save()
    try backend.permit(keys: "open", channels: nil)
    try await $closed.status { self.isForbidden($0.loadError) }
    $open.withLock { $0 = 2 }
    try await $open.save()
    #expect($open.loadError == nil)
    $closed.withLock { $0 = 2 }
    let error = await #expect(throws: RedisSharedStateError.self) { try await $closed.save() }
    #expect(isForbidden(error))
  }

  @Test("A store without TYPE and EXISTS reads strings and reports a missing permission for a list")
  func withoutTypes() async throws {
    let backend = try ServerBackend(configuration: ["user default on nopass ~* &* +@all -type -exists"])
    try backend.set("there", "7")
    try backend.setList("list")
    let store = try backend.store()
    @Shared(.redis("there", store: store)) var there = 1
    @Shared(.redis("absent", store: store)) var absent = 1
    @Shared(.redis("list", store: store)) var list = 1
    try await $there.becomes(7)
    try await $absent.load()
    try await $list.status { self.isForbidden($0.loadError) }
    #expect($there.loadError == nil)
  }

  @Test("Changes take effect even if the user may not publish them")
  func unannounced() async throws {
    let backend = try ServerBackend(configuration: ["user default on nopass ~* &* +@all -publish"])
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    try await $count.updateAtomically { $0 += 1 }
    #expect(count == 1)
    #expect(try backend.get("count") == "1")
    $count.withLock { $0 += 1 }
    try await $count.save()
    #expect(try backend.get("count") == "2")
  }
}
