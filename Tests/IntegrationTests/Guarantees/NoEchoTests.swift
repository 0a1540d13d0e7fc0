@testable import SharedStateRedis
import Synchronization
import SharedStateRedisTesting
import Testing

@testable import SharedState

@Suite("NoEcho", .timeLimit(.minutes(5)), .endsStores)
struct NoEchoTests {
  @Test("The echo of a service's own write is not shown as a remote change", arguments: BackendKind.allCases)
  func ownWrites(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (writer, reader) = (try backend.store("writer"), try backend.store("reader"))
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    try await $written.load()
    try await $read.load()
    for value in 1...50 {
      $written.withLock { $0 = value }
      if value.isMultiple(of: 7) { try await $written.save() }
    }
    try await $read.becomes(50)
    // Once the writer has seen the reader's change, it has received all earlier messages.
    $read.withLock { $0 = 100 }
    try await $written.becomes(100)
    #expect($written.remoteChanges == 1)
  }

  @Test(
    "The echo of a write is not shown as a remote change if the value has unknown fields",
    arguments: BackendKind.allCases
  )
  func unknownFields(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (writer, reader) = (try backend.store("writer"), try backend.store("reader"))
    try backend.set("limits", #"{"unknown":{"b":1,"a":[2,1]},"note":"default","maximum":1}"#)
    @Shared(.redis("limits", store: writer)) var written = Limits()
    @Shared(.redis("limits", store: reader)) var read = Limits()
    try await $written.value { $0.maximum == 1 }
    try await $read.load()
    try await eventually("the edit gets a revision") { try await writer.metadata(for: "limits")?.isForeign == true }
    let before = $written.remoteChanges
    for value in 2...10 {
      $written.withLock { $0.maximum = value }
      try await $written.save()
    }
    try await $read.value { $0.maximum == 10 }
    // Once the writer has seen the reader's change, it has received all earlier messages.
    $read.withLock { $0.note = "seen" }
    try await $written.value { $0.note == "seen" }
    #expect($written.remoteChanges == before + 1)
    #expect(try backend.get("limits") == #"{"unknown":{"b":1,"a":[2,1]},"note":"seen","maximum":10}"#)
  }

  @Test("A late echo of a service's own write does not overwrite a newer pending change")
  func lateEcho() async throws {
    let backend = FakeBackend()
    // A client that gives its connection up meanwhile could not connect again.
    let stores = try ["service", "other"].map { label in try backend.store(label) { $0.requestTimeout = patience } }
    let (store, other) = (stores[0], stores[1])
    @Shared(.redis("count", store: store)) var count = 0
    let (sign, sent) = (
      Shared(wrappedValue: 0, .redis("sign", store: store)), Shared(wrappedValue: 0, .redis("sign", store: other))
    )
    for share in [$count, sign, sent] { try await share.load() }
    backend.redis.holdMessages()
    for value in 1...3 {
      $count.withLock { $0 = value }
      try await $count.save()
    }
    backend.redis.holdReplies()
    $count.withLock { $0 = 4 }
    try await eventually("the change is stored") { backend.redis.get("count") == "4" }
    sent.withLock { $0 = 1 }
    try await eventually("the sign is stored") { backend.redis.get("sign") == "1" }
    backend.redis.releaseMessages()
    // The echoes have arrived before this one, and the reply has not.
    try await sign.becomes(1)
    #expect(count == 4)
    #expect(store.pendingChanges == 1)
    backend.redis.releaseReplies()
    try await store.flush(within: patience)
    #expect(count == 4)
    #expect($count.remoteChanges == 0)
  }

  @Test(
    "Two services whose writes cross agree on the stored value",
    arguments: BackendKind.allCases
  )
  func crossingWrites(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (first, second) = (try backend.store("first"), try backend.store("second"))
    @Shared(.redis("count", store: first)) var one = 0
    @Shared(.redis("count", store: second)) var two = 0
    try await $one.load()
    try await $two.load()
    for round in 1...repetitions(100) {
      $one.withLock { $0 = round * 2 }
      $two.withLock { $0 = round * 2 + 1 }
      try await first.flush(within: patience)
      try await second.flush(within: patience)
      let stored = try #require(try backend.get("count").flatMap { Int($0) })
      #expect([round * 2, round * 2 + 1].contains(stored))
      try await $one.becomes(stored)
      try await $two.becomes(stored)
    }
  }
}

extension Shared {
  /// The number of remote changes that the box has shown.
  fileprivate var remoteChanges: UInt64 {
    let box = projection.place.box
    box.lock.lock(for: box)
    defer { box.lock.unlock() }
    return box.remoteChanges
  }
}
