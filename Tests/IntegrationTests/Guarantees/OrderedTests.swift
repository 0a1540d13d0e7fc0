import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Ordered", .timeLimit(.minutes(5)), .endsStores)
struct OrderedTests {
  @Test("old, repeated or reordered messages never take a box back", arguments: BackendKind.allCases)
  func oldMessages(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    var revisions: [UInt64] = []
    for value in 1...3 {
      $count.withLock { $0 = value }
      try await $count.save()
      revisions.append(try #require(try await store.metadata(for: "count")?.revision))
    }
    for (index, revision) in revisions.enumerated() {
      let parent = index == 0 ? 0 : revisions[index - 1]
      try backend.publish("1 \(revision) \(parent) s other@host/1/n\n-\(index)", on: "changes:{count}")
      try backend.publish("1 \(revision) \(parent) d other@host/1/n\n", on: "changes:{count}")
    }
    let other = try backend.store("other")
    @Shared(.redis("count", store: other)) var others = 0
    try await $others.becomes(3)
    $others.withLock { $0 = 4 }
    try await $others.save()
    let seen = try await inTime("4", found: { [$count] in "\($count.wrappedValue)" }) { [$count] in
      var seen: [Int] = []
      for await value in $count.updates {
        seen.append(value)
        if value == 4 { break }
      }
      return seen
    }
    #expect(Set(seen).isSubset(of: [3, 4]))
    #expect($count.loadError == nil)
  }

  @Test(
    "a message about a value that is not stored is taken back, and causes no write",
    arguments: BackendKind.allCases,
    ["s", "d"]
  )
  func forgedMessage(kind: BackendKind, change: String) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store("service", logger: journal.logger("service"))
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    $count.withLock { $0 = 1 }
    try await $count.save()
    let revision = try #require(try await store.metadata(for: "count")?.revision)
    let payload = "1 \(revision + 30) \(revision) \(change) other@host/1/n\n" + (change == "s" ? "30" : "")
    try backend.publish(payload, on: "changes:{count}")
    try await eventually("the value is withdrawn") { journal.entries(Journal.withdrawn, name: "count").count == 1 }
    try await $count.becomes(1)
    #expect(try backend.get("count") == "1")
    #expect(try await store.metadata(for: "count")?.revision == revision)
    $count.withLock { $0 = 2 }
    try await $count.save()
    #expect(try backend.get("count") == "2")
  }

  private struct Limits: Codable, Sendable {
    var reads = 0
    var writes = 0
  }

  @Test(
    "a value that was announced but never stored is not part of a save, even if nothing is stored",
    arguments: BackendKind.allCases,
    [ConflictPolicy.merge, .reject, .lastWriteWins]
  )
  func forgedBase(kind: BackendKind, conflict: ConflictPolicy) async throws {
    for isChanged in [false, true] {
      let backend = try kind.make()
      let store = try backend.store()
      @Shared(.redis("limits", store: store, options: .init(conflict: conflict))) var limits = Limits()
      try await $limits.load()
      try backend.publish("1 5 0 s other@host/1/n\n" + #"{"reads":30,"writes":30}"#, on: "changes:{limits}")
      try await eventually("the announced value is shown") { [$limits] in $limits.wrappedValue.reads == 30 }
      if isChanged { $limits.withLock { $0.writes = 2 } }
      try await $limits.save()
      let stored = try JSONDecoder().decode(Limits.self, from: Data(#require(try backend.get("limits")).utf8))
      #expect(stored.reads == 0)
      #expect(stored.writes == (isChanged ? 2 : 0))
      try await eventually("the stored value is shown") { [$limits] in $limits.wrappedValue.reads == 0 }
    }
  }

  @Test(
    "a revision that claims to be from the far future does not end the counting of revisions",
    arguments: BackendKind.allCases,
    [
      "9007199254740991", "9007199254740992", "9007199254740993", "7881299347898369", "7881299347898368",
      "7881299347898367", "7881299347898300", "7000000000000000",
    ]
  )
  func beyondBelief(kind: BackendKind, revision: String) async throws {
    let backend = try kind.make()
    let (store, other) = (try backend.store(), try backend.store("other"))
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var others = 0
    try await $count.load()
    $count.withLock { $0 = 1 }
    try await $count.save()
    try await $others.becomes(1)
    for kind in ["s", "r", "d"] {
      try backend.publish("1 \(revision) 5 \(kind) other@host/1/n\n9", on: "changes:{count}")
    }
    try await $count.load()
    #expect(count == 1)
    try backend.set("meta:{count}", "\(revision) 0 s 0 x")
    try await $count.load()
    $count.withLock { $0 = 2 }
    try await $count.save()
    #expect(try backend.get("count") == "2")
    try await $others.becomes(2)
    $count.withLock { $0 = 3 }
    try await $count.save()
    #expect(try backend.get("count") == "3")
    try await $others.becomes(3)
    for value in 4...9 {
      try await $others.updateAtomically { $0 += 1 }
      try await $count.becomes(value)
    }
    try backend.set("count", "10")
    for share in [$count, $others] { try await share.becomes(10) }
    try await $count.updateAtomically { $0 += 1 }
    try await $others.becomes(11)
    // The loads confirm the values: revisions ahead of the clock do not distinguish an unread value from a later one.
    for share in [$count, $others] { try await share.load() }
    try backend.flushAll()
    for share in [$count, $others] { try await share.becomes(0) }
    $count.withLock { $0 = 4 }
    try await $count.save()
    #expect(try backend.get("count") == "4")
    try await $others.becomes(4)
  }

  @Test("an implausible revision in a server's answer is forgotten", arguments: BackendKind.allCases)
  func answeredBeyondBelief(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    // The script answers a repeated operation from its memory, so the test forges that memory for the next operations.
    let operation = try #require(try backend.get("ops:{count}")).split(separator: " ")
    let number = try #require(UInt64(operation[1]))
    for further in 1...4 as ClosedRange<UInt64> {
      try backend.set("ops:{count}", "\(operation[0]) \(number + further) 9007199254740993 0;")
      $count.withLock { $0 = 2 }
      do {
        try await $count.save()
      } catch RedisSharedStateError.Code.protocolViolation {
        break
      }
    }
    #expect($count.saveError != nil)
    try backend.delete("ops:{count}")
    try await $count.save()
    #expect(try backend.get("count") == "2")
    #expect($count.saveError == nil)
    let revision = try #require(try await store.metadata(for: "count")?.revision)
    #expect(revision < 4_000_000_000_000_000)
    let other = try backend.store("other")
    @Shared(.redis("count", store: other)) var others = 0
    try await $others.becomes(2)
  }

  @Test("messages that arrive in reverse order leave the newest value")
  func reversedMessages() async throws {
    let backend = FakeBackend()
    let (writer, reader) = (try backend.store("writer"), try backend.store("reader"))
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    try await $written.load()
    try await $read.load()
    backend.redis.holdMessages()
    for value in 1...5 {
      $written.withLock { $0 = value }
      try await $written.save()
    }
    while !backend.redis.heldMessages.isEmpty {
      backend.redis.duplicateMessages()
      backend.redis.releaseMessage(at: backend.redis.heldMessages.count - 1)
    }
    try await $read.becomes(5)
    #expect(written == 5)
    backend.redis.releaseMessages()
    $written.withLock { $0 = 6 }
    try await $read.becomes(6)
  }

  @Test("a message during the first read wins over the value that was read", arguments: BackendKind.allCases)
  func writesDuringTheFirstRead(kind: BackendKind) async throws {
    let backend = try kind.make()
    let writer = try backend.store("writer")
    @Shared(.redis("count", store: writer)) var written = 0
    let writing = Task { [$written] in
      while !Task.isCancelled {
        $written.withLock { $0 += 1 }
        try? await $written.save()
      }
    }
    defer { writing.cancel() }
    for number in 1...10 {
      let reader = try backend.store("reader\(number)")
      @Shared(.redis("count", store: reader)) var read = 0
      try await inTime("a value that was read", found: { [$read] in $read.summary }) { [$read] in
        var newest = 0
        for await value in $read.updates {
          #expect(value >= newest, "the box went back")
          newest = value
          if !$read.isLoading, value > 0 { break }
        }
      }
    }
    writing.cancel()
    _ = await writing.value
    try await writer.flush(within: patience)
    let last = try backend.store("last")
    @Shared(.redis("count", store: last)) var read = 0
    try await $read.becomes(written)
  }
}
