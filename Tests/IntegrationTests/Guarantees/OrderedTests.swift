import Foundation
import SharedState
import SharedStateRedis
import Testing

@Suite("Ordered")
struct OrderedTests {
  @Test("messages that are old, repeated or out of order never take a box back", arguments: BackendKind.allCases)
  func oldMessages(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    $count.withLock { $0 = 1 }
    try await $count.save()
    let revision = try #require(try await store.metadata(for: "count")?.revision)

    let channel = "changes:{count}"
    try backend.publish("1 \(revision) 0 s other@host/1/n\n-1", on: channel)
    try backend.publish("1 \(revision + 30) \(revision) s other@host/1/n\n30", on: channel)
    try await $count.becomes(30)
    try backend.publish("1 \(revision + 10) \(revision) s other@host/1/n\n10", on: channel)
    try backend.publish("1 \(revision + 30) \(revision) s other@host/1/n\n-30", on: channel)
    try backend.publish("1 \(revision + 20) \(revision) d other@host/1/n\n", on: channel)
    try backend.publish("1 \(revision + 40) \(revision + 30) s other@host/1/n\n40", on: channel)
    var seen: [Int] = []
    for await value in $count.updates {
      seen.append(value)
      if value == 40 { break }
    }
    #expect(Set(seen).isSubset(of: [30, 40]))
    #expect($count.loadError == nil)
  }

  @Test("messages that the fake holds and releases in reverse leave the newest value")
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

  @Test("a message during the first read wins over what was read", arguments: BackendKind.allCases)
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
    for number in 1...10 {
      let reader = try backend.store("reader\(number)")
      @Shared(.redis("count", store: reader)) var read = 0
      var newest = 0
      for await value in $read.updates {
        #expect(value >= newest, "the box went back")
        newest = value
        if !$read.isLoading, value > 0 { break }
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
