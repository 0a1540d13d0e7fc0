import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Eviction", .timeLimit(.minutes(5)), .endsStores)
struct EvictionTests {
  /// Makes a service with frequent anti-entropy, because the server does not report the eviction of metadata.
  private func store(_ backend: some Backend, _ label: String, journal: Journal = Journal()) throws -> RedisStore {
    try backend.store(label, logger: journal.logger(label)) { $0.antiEntropyInterval = .milliseconds(300) }
  }

  /// Loads all shares at once, so that they are read together.
  private func loadAll<Value: Sendable>(_ shares: some Sequence<Shared<Value>>) async throws {
    try await withThrowingTaskGroup { tasks in
      for share in shares { tasks.addTask { try await share.load() } }
      try await tasks.waitForAll()
    }
  }

  /// Names that sort by their numbers.
  private func names(_ count: Int) -> [String] { (100..<100 + count).map { "value\($0)" } }

  @Test(
    "AcknowledgedSurvives: no value that a running service holds is lost, whatever the policy evicts",
    arguments: ["allkeys-lru", "allkeys-lfu", "allkeys-random"]
  )
  func pressure(policy: String) async throws {
    let backend = try ServerBackend(configuration: ["maxmemory-policy \(policy)"])
    let stores = try ["first", "second"].map { try store(backend, $0) }
    let names = names(300)
    let shares = stores.map { store in names.map { Shared(wrappedValue: "", .redis($0, store: store)) } }
    for (name, share) in zip(names, shares[0]) {
      share.withLock { $0 = name + String(repeating: "x", count: 4_000) }
    }
    try await stores[0].flush(within: patience)
    for (share, copy) in zip(shares[0], shares[1]) { try await copy.becomes(share.wrappedValue) }

    let used = try backend.used
    let filler = String(repeating: "x", count: 10_000)
    for part in [0.97, 0.94, 0.9] {
      _ = try backend.server.command("CONFIG", "SET", "maxmemory", String(Int(Double(used) * part)))
      let before = try backend.evictions
      try await eventually("a key is evicted") {
        // What the server has refused comes again after a pause, so the services alone may not fill it for a while.
        _ = try backend.server.command("SET", "filler\(UInt64.random(in: 0...UInt64.max))", filler)
        return try backend.evictions > before
      }
    }
    _ = try backend.server.command("CONFIG", "SET", "maxmemory", "0")
    // Loading tries again at once what the full server has refused.
    try await loadAll(shares.joined())
    for (name, share) in zip(names, shares[0]) {
      try await eventually("\(name) is restored") { try backend.get(name) == "\"\(share.wrappedValue)\"" }
    }
    for share in shares.joined() {
      #expect(share.wrappedValue.hasPrefix("value"))
    }
  }

  @Test("Bounded: services that reconnect together do not each cost the server a copy of their values")
  func comingBackTogether() async throws {
    let backend = try ServerBackend(configuration: ["maxmemory-policy allkeys-lru"])
    let ways = (0..<20).map { _ in Way() }
    let stores = try ways.enumerated().map { number, way in try backend.store("service\(number)", way: way) }
    let names = names(50)
    let text = String(repeating: "x", count: 100_000)
    let shares = stores.map { store in names.map { Shared(wrappedValue: "", .redis($0, store: store)) } }
    try await loadAll(shares.joined())
    for (name, share) in zip(names, shares[0]) { share.withLock { $0 = name + text } }
    try await stores[0].flush(within: patience)
    for copies in shares { for (name, copy) in zip(names, copies) { try await copy.becomes(name + text) } }

    let used = try backend.used
    _ = try backend.server.command("CONFIG", "SET", "maxmemory", String(used * 3 / 2))
    _ = try backend.server.command("CONFIG", "RESETSTAT")
    let before = ways.map(\.connectionsOpened)
    _ = try backend.server.command("CLIENT", "KILL", "TYPE", "normal")
    try await eventually("all stores are connected again") {
      zip(ways, before).allSatisfy { way, before in way.connectionsOpened >= before + 2 }
    }
    for store in stores { try await store.isUp() }
    for share in shares.joined() { try await share.status { $0.loadError == nil } }
    #expect(try backend.evictions == 0)
    for name in names { #expect(try backend.get(name) == "\"\(name)\(text)\"") }
    #expect(try backend.peak < used + used / 10 + stores.count * 4 << 20)
  }

  @Test(
    "AcknowledgedSurvives: even if an operator turns eviction on while services are connected",
    arguments: BackendKind.allCases
  )
  func turnedOn(kind: BackendKind) async throws {
    let backend: any Backend =
      switch kind {
      case .fake: FakeBackend()
      case .server: try ServerBackend(configuration: ["maxmemory-policy noeviction"])
      }
    let stores = try ["first", "second"].map { try store(backend, $0) }
    let names = names(50)
    let shares = stores.map { store in names.map { Shared(wrappedValue: 0, .redis($0, store: store)) } }
    for (number, share) in shares[0].enumerated() { share.withLock { $0 = number + 1 } }
    try await stores[0].flush(within: patience)
    for (number, share) in shares[1].enumerated() { try await share.becomes(number + 1) }

    try await evictAll(names, of: backend)
    try await loadAll(shares.joined())
    for (number, name) in names.enumerated() {
      try await eventually("\(name) is restored") { try backend.get(name) == "\(number + 1)" }
    }
    // A service that knows a value only from a message shows it again once its author has restored it.
    for share in shares {
      for (number, share) in share.enumerated() { try await share.becomes(number + 1) }
    }
  }

  @Test(
    "AcknowledgedSurvives: a value is restored as it was, whichever of its keys are gone",
    arguments: [["count"], ["meta:{count}"], ["count", "meta:{count}"], ["meta:{count}", "count", "ops:{count}"]]
  )
  func keys(keys: [String]) async throws {
    let backend = FakeBackend()
    let journal = Journal()
    let stores = try ["first", "second"].map { try store(backend, $0, journal: journal) }
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    shares[0].withLock { $0 = 1 }
    try await shares[0].save()
    for share in shares { try await share.becomes(1) }
    for store in stores { try await eventually("the value is read") { store.confirmedRevision(of: "count") != nil } }
    let before = try #require(try await stores[0].metadata(for: "count"))
    for key in keys { backend.redis.evict(key) }
    try await eventually("the value is restored") {
      backend.get("count") == "1" && backend.get("meta:{count}") != nil
    }
    for share in shares {
      try await share.load()
      #expect(share.wrappedValue == 1)
    }
    #expect(try await stores[0].metadata(for: "count") == before)
    #expect(journal.entries(Journal.adopted) == [])
  }

  /// Evicts every key of these values, in an arbitrary order.
  private func evictAll(_ names: [String], of backend: any Backend) async throws {
    let keys = names.flatMap { [$0, "meta:{\($0)}", "ops:{\($0)}"] }
    if let fake = backend as? FakeBackend { return keys.shuffled().forEach(fake.redis.evict) }
    let server = try #require(backend as? ServerBackend)
    _ = try server.server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
    _ = try server.server.command("CONFIG", "SET", "maxmemory", "1")
    try await eventually("all keys are evicted") { try keys.allSatisfy { try server.get($0) == nil } }
    _ = try server.server.command("CONFIG", "SET", "maxmemory", "0")
  }

  @Test(
    "AcknowledgedSurvives: a value that is evicted long before it expires is restored",
    arguments: zip([BackendKind.fake, .fake, .server], [true, false, true])
  )
  func beforeItsTime(kind: BackendKind, isAllGone: Bool) async throws {
    let backend = try kind.make()
    let stores = try ["first", "second"].map { try store(backend, $0) }
    let options = RedisSharedKey<Int>.Options(timeToLive: .seconds(3_600))
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0, options: options)) }
    shares[0].withLock { $0 = 1 }
    try await shares[0].save()
    for share in shares { try await share.becomes(1) }
    if let fake = backend as? FakeBackend, !isAllGone {
      fake.redis.evict("count")
    } else {
      try await evictAll(["count"], of: backend)
      // Loading tries again at once what the full server has refused.
      try await loadAll(shares)
    }
    try await eventually("the value is restored") { try backend.get("count") == "1" }
    #expect(try (backend.timeToLive(of: "count") ?? .zero) > .seconds(3_000))
    // A service that knows a value only from a message shows it again once its author has restored it.
    for share in shares { try await share.becomes(1) }
  }

  @Test(
    "ForeignEditsSeen: a deleted value stays deleted, even on a server that may evict",
    arguments: BackendKind.allCases,
    ["DEL", "EXPIRE", "FLUSHALL"]
  )
  func deletions(kind: BackendKind, command: String) async throws {
    let backend: any Backend =
      switch kind {
      case .fake: FakeBackend()
      case .server: try ServerBackend(configuration: ["maxmemory-policy allkeys-lru", "maxmemory 100mb"])
      }
    let stores = try ["first", "second"].map { try backend.store($0) }
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    shares[0].withLock { $0 = 1 }
    try await shares[0].save()
    for share in shares { try await share.becomes(1) }
    switch command {
    case "DEL": try backend.delete("count")
    case "EXPIRE": try backend.expire("count")
    default: try backend.flushAll()
    }
    for share in shares { try await share.becomes(0) }
    try await eventually("the value has a tombstone") { try backend.get("meta:{count}")?.contains(" d ") ?? false }
    #expect(try backend.get("count") == nil)
  }

  @Test(
    "AcknowledgedSurvives: without a count of evictions, a missing value counts as deleted, and the log says so",
    arguments: BackendKind.allCases
  )
  func untold(kind: BackendKind) async throws {
    let backend = try kind.makeWithoutInfo()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    if let fake = backend as? FakeBackend { fake.redis.evict("count") } else { try backend.delete("count") }
    try await $count.becomes(0)
    for purpose in ConnectionPurpose.allCases {
      let before = journal.entries("Connected to").count
      try backend.cut(purpose, of: "service")
      try await eventually("the service is connected again") { journal.entries("Connected to").count > before }
      try await $count.load()
    }
    let told = journal.entries(Journal.vitalsRefused)
    #expect(told.map(\.level) == [.notice])
  }

  @Test("A store that can read the count of evictions logs no notice about it", arguments: BackendKind.allCases)
  func told(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    #expect(journal.entries(Journal.vitalsRefused) == [])
  }
}

extension BackendKind {
  /// Makes a backend that refuses INFO, because the user lacks the right.
  fileprivate func makeWithoutInfo() throws -> any Backend {
    switch self {
    case .fake:
      let backend = FakeBackend()
      backend.redis.refuseInfo()
      return backend
    case .server:
      return try ServerBackend(configuration: ["user default on nopass ~* &* +@all -info"])
    }
  }
}
