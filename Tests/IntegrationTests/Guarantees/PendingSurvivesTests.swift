import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("PendingSurvives", .timeLimit(.minutes(5)), .endsStores)
struct PendingSurvivesTests {
  @Test(
    "Changes made while the server is unreachable are saved once it is reachable again",
    arguments: BackendKind.allCases
  )
  func unreachableServer(kind: BackendKind) async throws {
    let backend = try kind.make()
    let way = Way()
    let (writer, reader) = (try backend.store("writer", way: way), try backend.store("reader"))
    let written = (0..<20).map { Shared(wrappedValue: 0, .redis("count:\($0)", store: writer)) }
    let read = (0..<20).map { Shared(wrappedValue: 0, .redis("count:\($0)", store: reader)) }
    for share in written + read { try await share.load() }

    let sent = way.commitsSent
    try backend.goDown()
    try await writer.isDown()
    try await reader.isDown()
    // Reading and changing work as before, and only the newest value of each name is kept.
    for round in 1...1_000 {
      for share in written { share.withLock { $0 = round } }
    }
    #expect(written.allSatisfy { $0.wrappedValue == 1_000 })
    #expect(writer.pendingChanges == 20)
    #expect(written.allSatisfy { $0.loadError is RedisSharedStateError })

    try backend.comeBack()
    for share in read { try await share.becomes(1_000) }
    try await writer.flush(within: patience)
    #expect(writer.pendingChanges == 0)
    // A new connection that breaks may have to send each of them again.
    #expect(way.commitsSent - sent <= 2 * written.count)
    for share in written { try await share.status { $0.loadError == nil && $0.saveError == nil } }
  }

  @Test("A pending change is saved even after the last share of its value is gone", arguments: BackendKind.allCases)
  func shareIsGone(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.goDown()
    do {
      let store = try backend.store("short-lived")
      @Shared(.redis("count", store: store)) var count = 0
      $count.withLock { $0 = 7 }
    }
    try backend.comeBack()
    let reader = try backend.store("reader")
    @Shared(.redis("count", store: reader)) var count = 0
    try await $count.becomes(7)
  }

  @Test("The first load does not overwrite a local change made during it", arguments: BackendKind.allCases)
  func changeDuringFirstLoad(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("count", "5")
    let (writer, reader) = (try backend.store("writer"), try backend.store("reader"))
    try await writer.waitUntilConnected(within: patience)
    try await reader.waitUntilConnected(within: patience)
    try backend.pause()
    @Shared(.redis("count", store: writer)) var written = 0
    #expect($written.isLoading)
    $written.withLock { $0 = 6 }
    try backend.resume()
    try await $written.save()
    #expect(written == 6)
    #expect(try backend.get("count") == "6")
    @Shared(.redis("count", store: reader)) var read = 0
    try await $read.becomes(6)
  }

  @Test("A commit whose reply is lost takes effect once")
  func lostReply() async throws {
    let backend = FakeBackend()
    let (writer, other) = (try backend.store("writer"), try backend.store("other"))
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: other)) var others = 0
    try await $written.load()
    try await $others.load()
    // The writer can send nothing again before the revision is known, and no message shows it what its commit has done.
    backend.redis.refuseConnections(keepingOpenConnections: true)
    backend.redis.dropMessages()
    backend.redis.cutAfterNextCommit()
    $written.withLock { $0 = 1 }
    try await $others.becomes(1)
    let revision = try #require(try await other.metadata(for: "count")?.revision)
    #expect(writer.pendingChanges == 1)
    backend.redis.acceptConnections()
    try await writer.flush(within: patience)
    #expect(try await other.metadata(for: "count")?.revision == revision)
    #expect(written == 1)
  }

  @Test("A commit that the server did not receive before the connection broke is sent again")
  func lostCommit() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    backend.redis.cutBeforeNextCommit()
    $count.withLock { $0 = 1 }
    try await store.flush(within: patience)
    #expect(backend.redis.get("count") == "1")
  }

  @Test(
    "A change is delivered even if either connection is killed",
    arguments: BackendKind.allCases,
    ConnectionPurpose.allCases
  )
  func killedConnection(kind: BackendKind, purpose: ConnectionPurpose) async throws {
    let backend = try kind.make()
    let (writer, reader) = (try backend.store("writer"), try backend.store("reader"))
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    try await $written.load()
    try await $read.load()
    for round in 1...5 {
      try backend.cut(purpose, of: "writer")
      try backend.cut(purpose, of: "reader")
      $written.withLock { $0 = round }
      try await $read.becomes(round)
      try await writer.flush(within: patience)
    }
  }

  @Test(
    "A server that stops answering is detected, blocks no change, and is used again once it answers",
    arguments: BackendKind.allCases
  )
  func pausedServer(kind: BackendKind) async throws {
    let backend = try kind.make()
    let hasty: (inout RedisConfiguration) -> Void = {
      $0.keepAliveInterval = .milliseconds(200)
      $0.requestTimeout = .milliseconds(300)
      $0.connectTimeout = .milliseconds(300)
    }
    let (writer, reader) = (
      try backend.store("writer", configure: hasty), try backend.store("reader", configure: hasty)
    )
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    // A busy machine may need several attempts.
    try await $written.load(within: patience)
    try await $read.load(within: patience)
    try backend.pause()
    $written.withLock { $0 = 1 }
    #expect(written == 1)
    try await writer.isDown()
    try await reader.isDown()
    $written.withLock { $0 = 2 }
    try backend.resume()
    try await $read.becomes(2)
  }
}
