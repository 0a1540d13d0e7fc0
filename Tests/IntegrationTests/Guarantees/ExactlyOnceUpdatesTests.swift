import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("ExactlyOnceUpdates", .timeLimit(.minutes(5)), .endsStores)
struct ExactlyOnceUpdatesTests {
  @Test("An update takes effect exactly once if the connection breaks before or after its commit")
  func lostReply() async throws {
    let backend = FakeBackend()
    let (store, other) = (try backend.store("first"), try backend.store("other"))
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var others = 0
    try await $others.load()
    for round in 1...20 {
      if round.isMultiple(of: 2) { backend.redis.cutAfterNextCommit() } else { backend.redis.cutBeforeNextCommit() }
      #expect(
        try await $count.updateAtomically {
          $0 += 1; return $0
        } == round
      )
      try await $others.becomes(round)
    }
  }

  @Test(
    "ExactlyOnceUpdates: a change counts as stored although the server does not know the command that announces it"
  )
  func unknownPublish() async throws {
    let backend = try ServerBackend(configuration: ["rename-command PUBLISH \"\""])
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    let other = try backend.store("other")
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var followed = 0
    try await $followed.load()
    for _ in 0..<5 { try await $count.updateAtomically { $0 += 1 } }
    #expect(try backend.get("count") == "5")
    $count.withLock { $0 += 1 }
    try await $count.save()
    // The server still reports which keys are written.
    try await $followed.becomes(6)
    try await $count.reset()
    #expect(try backend.get("count") == nil)
    let told = try #require(journal.entries("Redis has refused a later step", name: "count").first)
    #expect(told.level == .error)
  }

  @Test("An update whose reply is lost takes effect once even if other services update the value meanwhile")
  func lostReplyAndOthers() async throws {
    let backend = FakeBackend()
    let (store, other) = (try backend.store("first"), try backend.store("other"))
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var others = 0
    try await $count.load()
    try await $others.load()
    backend.redis.refuseConnections(keepingOpenConnections: true)
    backend.redis.cutAfterNextCommit()
    let updating = Task { [$count] in
      try await $count.updateAtomically {
        $0 += 1; return $0
      }
    }
    try await $others.becomes(1)
    for _ in 0..<10 { try await $others.updateAtomically { $0 += 1 } }
    backend.redis.acceptConnections()
    #expect(try await updating.value == 1)
    try await $count.becomes(11)
  }

  @Test("An update's outcome is unknown after many later operations have displaced its record")
  func forgottenOperation() async throws {
    let backend = FakeBackend()
    let store = try backend.store("first")
    let others = try (0..<40).map { try backend.store("other\($0)") }
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    let shares = others.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    for share in shares { try await share.load() }
    backend.redis.refuseConnections(keepingOpenConnections: true)
    backend.redis.cutAfterNextCommit()
    let updating = Task { [$count] in try await $count.updateAtomically { $0 += 1 } }
    try await shares[0].becomes(1)
    for share in shares { try await share.updateAtomically { $0 += 1 } }
    backend.redis.acceptConnections()
    await #expect(throws: RedisSharedStateError.outcomeUnknown(name: "count")) { try await updating.value }
    try await $count.becomes(41)
  }

  @Test(
    "An update's outcome is unknown after the server has evicted its record of operations",
    arguments: [["ops:{count}"], ["ops:{count}", "meta:{count}"]]
  )
  func evictedOperation(keys: [String]) async throws {
    let backend = FakeBackend()
    let (store, other) = (try backend.store("first"), try backend.store("other"))
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var others = 0
    try await $others.updateAtomically { $0 += 5 }
    try await $count.becomes(5)
    backend.redis.refuseConnections(keepingOpenConnections: true)
    backend.redis.cutAfterNextCommit()
    let updating = Task { [$count] in try await $count.updateAtomically { $0 += 1 } }
    try await $others.becomes(6)
    for key in keys { backend.redis.evict(key) }
    try await $others.updateAtomically { $0 += 1 }
    backend.redis.acceptConnections()
    await #expect(throws: RedisSharedStateError.outcomeUnknown(name: "count")) { try await updating.value }
    try await $count.becomes(7)
  }

  @Test("An update is repeated or its outcome is unknown if a stale server takes over between commit and reply")
  func olderServer() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 5 }
    try await $count.save()
    let before = backend.redis.snapshot()
    backend.redis.refuseConnections(keepingOpenConnections: true)
    // Otherwise the subscriber could see the result of the commit, and heal the older server with it.
    backend.redis.holdMessages()
    backend.redis.cutAfterNextCommit()
    let updating = Task { [$count] in try await $count.updateAtomically { $0 += 1 } }
    try await store.isDown()
    backend.redis.restore(before)
    backend.redis.acceptConnections()
    let outcome = await updating.result
    // On the older snapshot it is safe to repeat the commit, because it expects exactly that revision.
    let value = backend.redis.get("count")
    switch outcome {
    case .success: #expect(value == "6")
    case .failure(let error):
      #expect(error as? RedisSharedStateError == .outcomeUnknown(name: "count"))
      #expect(value == "5")
    }
  }

  @Test("An update's outcome is unknown if an empty server takes over between commit and reply")
  func emptyServer() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 5 }
    try await $count.save()
    backend.redis.refuseConnections(keepingOpenConnections: true)
    // A service that received the message would know the effect, and restore it.
    backend.redis.dropMessages()
    backend.redis.cutAfterNextCommit()
    let updating = Task { [$count] in try await $count.updateAtomically { $0 += 1 } }
    try await store.isDown()
    backend.redis.loseData()
    backend.redis.acceptConnections()
    await #expect(throws: RedisSharedStateError.outcomeUnknown(name: "count")) { try await updating.value }
  }

  @Test("Repeated kills of the server neither lose nor repeat an acknowledged update")
  func killedServer() async throws {
    let backend = try ServerBackend()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    let isDone = Flag()
    let updating = (0..<8).map { _ in
      Task { [$count] in
        var (done, unknown) = (0, 0)
        while !isDone.isSet {
          do {
            try await $count.updateAtomically { $0 += 1 }
            done += 1
          } catch RedisSharedStateError.Code.outcomeUnknown {
            unknown += 1
          }
        }
        return (done, unknown)
      }
    }
    for _ in 0..<5 {
      let reached = count
      try await $count.value { $0 > reached + 20 }
      backend.server.kill()
      try backend.server.restart()
    }
    isDone.set()
    var (done, unknown) = (0, 0)
    for task in updating {
      let (its, open) = try await task.value
      done += its
      unknown += open
    }
    let total = try #require(try backend.get("count").flatMap { Int($0) })
    #expect((done...done + unknown).contains(total))
  }

  private let total = repetitions(100_000, sanitized: 3_000)

  @Test(
    "Three services count to the exact total while their connections are killed",
    arguments: BackendKind.allCases
  )
  func hundredThousand(kind: BackendKind) async throws {
    let backend = try kind.make()
    let labels = (0..<3).map { "service\($0)" }
    let stores = try labels.map { label in try backend.store(label) { $0.operationTimeout = .seconds(60) } }
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    for share in shares { try await share.load() }
    let workers = 100
    let kills = Atomic(0)
    // Busy machines may count faster than they break a connection: the workers go on until every service has met it.
    let allWereKilled = Flag()
    let killing = Task {
      defer { allWereKilled.set() }
      var round = 0
      while !Task.isCancelled {
        let purpose: ConnectionPurpose = round.isMultiple(of: 2) ? .writer : .subscriber
        try await breakConnection(purpose, of: labels[round % labels.count], on: backend)
        round = kills.add(1, ordering: .relaxed).newValue
        if round == labels.count { allWereKilled.set() }
        let reached = shares[0].wrappedValue
        try await shares[0].value { $0 > min(reached + 500, total - 1) }
      }
    }
    let counted = try await withThrowingTaskGroup(of: Int.self) { group in
      for worker in 0..<workers {
        let share = shares[worker % shares.count]
        group.addTask {
          var updates = 0
          while updates < total / workers || !allWereKilled.isSet {
            try await share.updateAtomically { $0 += 1 }
            updates += 1
          }
          return updates
        }
      }
      return try await group.reduce(0, +)
    }
    killing.cancel()
    _ = await killing.result
    for share in shares { try await share.becomes(counted) }
    #expect(try backend.get("count") == String(counted))
    #expect(kills.load(ordering: .relaxed) >= labels.count)
  }

  /// Breaks an open connection.
  private func breakConnection(_ purpose: ConnectionPurpose, of label: String, on backend: any Backend) async throws {
    try await eventually("\(label) is connected") { try backend.isConnected(purpose, of: label) }
    try backend.cut(purpose, of: label)
  }

  @Test("Two processes count to the exact total while their connections are killed")
  func processes() async throws {
    let backend = try ServerBackend()
    let store = try backend.store("observer")
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    @Shared(.redis("isEnough", store: store)) var isEnough = false
    let arguments = [backend.server.url]
    async let first = CommandLineTool.run("CountingService", arguments)
    async let second = CommandLineTool.run("CountingService", arguments)
    let killing = Task { [$count] in
      for round in 0..<20 {
        let purpose: ConnectionPurpose = round.isMultiple(of: 3) ? .subscriber : .writer
        try await breakConnection(purpose, of: "process", on: backend)
        let reached = $count.wrappedValue
        try await $count.value { $0 > reached + 100 }
      }
    }
    let killed = await killing.result
    // The services count until they are told, whether or not their connections could be killed.
    try await $isEnough.updateAtomically { $0 = true }
    let counted = try [await first, await second].map { try #require(Int($0)) }
    try killed.get()
    #expect(counted.allSatisfy { $0 > 0 })
    try await $count.becomes(counted.reduce(0, +))
    #expect(try backend.get("count") == String(counted.reduce(0, +)))
  }

  /// A flag that is set once and visible to all threads.
  private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
  }
}
