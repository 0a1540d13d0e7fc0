import Foundation
import MetricsTestKit
@testable import RedisConnectionContract
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("Ordered", .timeLimit(.minutes(5)), .endsStores)
struct OrderedTests {
  @Test("Old or repeated messages never replace a newer value", arguments: BackendKind.allCases)
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
    let shown = Mutex<[Int]>([])
    let watching = Task { [$count] in for await value in $count.updates { shown.withLock { $0.append(value) } } }
    defer { watching.cancel() }
    try await eventually("the watching has begun") { shown.withLock { $0 } == [3] }
    for (index, revision) in revisions.enumerated() {
      let parent = Revision(index == 0 ? 0 : revisions[index - 1])
      for content in [ChangeMessage.Content.document(Data("-\(index)".utf8)), .deleted] {
        let message = ChangeMessage(
          revision: Revision(revision),
          parent: parent,
          writer: "other@host/1/n",
          content: content
        )
        // Even a message that the server has made is ignored once it is old.
        try backend.publish(message, on: "changes:{count}", provenBy: backend.secret())
      }
    }
    let other = try backend.store("other")
    @Shared(.redis("count", store: other)) var others = 0
    try await $others.becomes(3)
    $others.withLock { $0 = 4 }
    try await $others.save()
    try await eventually("the change of the other service") { shown.withLock { $0.last } == 4 }
    #expect(shown.withLock { $0 } == [3, 4])
    #expect($count.loadError == nil)
  }

  /// What a client can publish that knows everything except the secret.
  enum Forgery: CaseIterable {
    case document, deletion, otherSecret, otherNamespace, otherChannel, otherDocument
  }

  @Test(
    "A message without a valid proof is never shown and causes no write",
    arguments: BackendKind.allCases,
    Forgery.allCases
  )
  func forgedMessage(kind: BackendKind, forgery: Forgery) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store("service", logger: journal.logger("service"))
    let shop = try backend.store("shop") { $0.namespace = "shop:" }
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: shop)) var shops = 0
    for share in [$count, $shops] {
      share.withLock { $0 = 1 }
      try await share.save()
    }
    let shown = Mutex<Set<Int>>([])
    let watching = Task { [$count] in for await value in $count.updates { shown.withLock { _ = $0.insert(value) } } }
    defer { watching.cancel() }
    try await eventually("the watching has begun") { shown.withLock { $0 } == [1] }
    let revision = try #require(try await store.metadata(for: "count")?.revision)
    let channel = "changes:{count}"
    let content = forgery == .deletion ? ChangeMessage.Content.deleted : .document(Data("30".utf8))
    let message = ChangeMessage(
      revision: Revision(revision + 30),
      parent: Revision(revision),
      writer: "other@host/1/n",
      content: content
    )
    let secret: Secret? =
      switch forgery {
      case .document, .deletion: nil
      case .otherSecret: .other
      case .otherNamespace: try backend.secret(of: "shop:")
      case .otherChannel, .otherDocument: try backend.secret()
      }
    var payload = message.payload(on: forgery == .otherChannel ? "changes:{other}" : channel, provenBy: secret)
    if forgery == .otherDocument { payload[payload.endIndex - 1] = UInt8(ascii: "1") }
    try backend.publish(String(decoding: payload, as: UTF8.self), on: channel)
    try await eventually("the message is reported") { !journal.entries(Journal.unproven).isEmpty }
    #expect(try backend.get("count") == "1")
    #expect(try await store.metadata(for: "count")?.revision == revision)
    $count.withLock { $0 = 2 }
    try await $count.save()
    #expect(try backend.get("count") == "2")
    try await eventually("the own change is seen") { shown.withLock { $0.contains(2) } }
    let values = shown.withLock { $0 }
    #expect(values == [1, 2])
  }

  @Test(
    "AcknowledgedSurvives: what a client forges that can read the secret is never stored, and shown only until a read",
    arguments: BackendKind.allCases,
    [false, true]
  )
  func forgedWithSecret(kind: BackendKind, isDeletion: Bool) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let way = Way()
    let store = try backend.store("service", logger: journal.logger("service"), way: way)
    let other = try backend.store("other")
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var others = 0
    try await $count.load()
    // A service looks for an edit behind its own changes, and so could find the forgery out before the test sees it.
    $others.withLock { $0 = 1 }
    try await $others.save()
    try await $count.becomes(1)
    let names = KeyNames(namespace: "", name: "count", database: 0)
    let stored = try #require(try backend.get(names.meta).flatMap { Meta($0) })
    let forged = ChangeMessage(
      revision: Revision(stored.revision.rawValue + 30),
      parent: stored.revision,
      writer: "other@host/1/n",
      content: isDeletion ? .deleted : .document(Data("30".utf8))
    )
    try backend.publish(forged, on: names.channel, provenBy: backend.secret())
    try await $count.becomes(isDeletion ? 0 : 30)
    try await backend.cutOff(store, "service", way)
    way.open()
    try await store.isUp()
    try await $count.becomes(1)
    #expect(try backend.get("count") == "1")
    #expect(try backend.get(names.meta).flatMap { Meta($0) } == stored)
    #expect(!journal.entries("never stored", name: "count").isEmpty)
    // A real change is still seen.
    $others.withLock { $0 = 2 }
    try await $others.save()
    try await $count.becomes(2)
  }

  @Test("A message is shown even after the secret is lost or replaced", arguments: BackendKind.allCases)
  func lostSecret(kind: BackendKind) async throws {
    // Without tracking, a service learns of a change from its message, or from a read that the message causes.
    let backend = try kind.makeWithoutTracking(right: "client|tracking")
    let (way, othersWay) = (Way(), Way())
    let configure: (inout RedisConfiguration) -> Void = { $0.antiEntropyInterval = .seconds(3_600) }
    let store = try backend.store(way: way, configure: configure)
    let other = try backend.store("other", way: othersWay, configure: configure)
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var others = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    try await $others.becomes(1)
    let first = try backend.secret()
    try backend.delete("secret:{}")
    try await announce($count, to: $others, othersWay)
    #expect(try backend.secret() == first)
    // Neither service knows this one. Until they read it, messages prove nothing to them, and they read the value.
    try backend.set("secret:{}", String(repeating: "7", count: Secret.length))
    try await announce($others, to: $count, way)
    #expect(try backend.secret() == .other)
  }

  @Test("A long text in the place of the secret disconnects no service", arguments: BackendKind.allCases)
  func longSecret(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("secret:{}", String(repeating: "x", count: 5_000))
    let stores = try ["service", "other"].map { try backend.store($0) }
    let counts = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    for share in counts { try await share.load() }
    counts[0].withLock { $0 = 1 }
    try await counts[0].save()
    try await counts[1].becomes(1)
  }

  /// Changes a value until another service, which has this way to the server, shows a change without reading it.
  private func announce(_ written: Shared<Int>, to read: Shared<Int>, _ way: Way) async throws {
    try await eventually("a message is shown") {
      let before = way.bytesRead
      let value = read.wrappedValue + 1
      written.withLock { $0 = value }
      try await written.save()
      try await read.becomes(value)
      return way.bytesRead == before
    }
  }

  @Test(
    "A revision from the far future does not prevent later revisions from being assigned",
    arguments: BackendKind.allCases,
    [
      "9007199254740991", "9007199254740992", "9007199254740993", "7881299347898369", "7881299347898368",
      "7881299347898367", "7881299347898300", "7000000000000000",
    ]
  )
  func beyondBelief(kind: BackendKind, revision: String) async throws {
    let backend = try kind.make()
    let metrics = TestMetrics()
    let (store, other) = (try backend.store(metrics: metrics), try backend.store("other"))
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("count", store: other)) var others = 0
    try await $count.load()
    $count.withLock { $0 = 1 }
    try await $count.save()
    try await $others.becomes(1)
    let meta = Meta(
      revision: Revision(UInt64(revision) ?? 0),
      parent: Revision(5),
      kind: .set,
      writer: "other@host/1/n"
    )
    let isValid = meta.revision <= .largest
    if isValid {
      try backend.set("meta:{count}", meta.string)
      try backend.set("count", "9")
    }
    // The client knows the secret.
    for content in [ChangeMessage.Content.document(Data("9".utf8)), .reference] {
      let message = ChangeMessage(meta: meta, content: content)
      try backend.publish(message, on: "changes:{count}", provenBy: backend.secret())
    }
    if isValid {
      for share in [$count, $others] { try await share.becomes(9) }
    } else {
      try await eventually("both messages are malformed") {
        metrics.counterTotal(label: "shared_state_malformed_messages") == 2
      }
      try await $count.load()
      #expect(count == 1)
      try backend.set("meta:{count}", "\(revision) 0 s 0 x")
    }
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

  @Test(
    "A store rejects an implausible revision in the server's reply and saves again afterwards",
    arguments: BackendKind.allCases
  )
  func answeredBeyondBelief(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    $count.withLock { $0 = 1 }
    try await $count.save()
    // The script answers a repeated operation from its memory, so the test forges that memory for the next operation,
    // whose number is one of the next few.
    var (isRefused, value) = (false, 1)
    for attempt in 0..<40 as Range<UInt64> where !isRefused {
      let operation = try #require(try backend.get("ops:{count}")).split(separator: " ")
      let number = try #require(UInt64(operation[1])) + 1 + attempt % 4
      try backend.set("ops:{count}", "\(operation[0]) \(number) 9007199254740993 0;")
      // An unchanged value would commit nothing.
      value += 1
      $count.withLock { [value] in $0 = value }
      do {
        try await $count.save()
      } catch RedisSharedStateError.Code.protocolViolation {
        isRefused = true
      }
    }
    #expect(isRefused)
    try backend.delete("ops:{count}")
    try await $count.save()
    #expect(try backend.get("count") == "\(value)")
    #expect($count.saveError == nil)
    let revision = try #require(try await store.metadata(for: "count")?.revision)
    #expect(revision < 4_000_000_000_000_000)
    let other = try backend.store("other")
    @Shared(.redis("count", store: other)) var others = 0
    try await $others.becomes(value)
  }

  @Test("Messages received in reverse order leave the newest value in place")
  func reversedMessages() async throws {
    let backend = FakeBackend()
    // Without tracking, the reader learns of changes from messages. It reads once, as the first one shows a gap.
    backend.redis.refuseTracking()
    let way = Way()
    let writer = try backend.store("writer")
    let reader = try backend.store("reader", way: way) { $0.antiEntropyInterval = .seconds(3_600) }
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    let ends = [writer, reader].map { Shared(wrappedValue: 0, .redis("end", store: $0)) }
    for share in [$written, $read] + ends { try await share.load() }
    let before = way.bytesRead
    backend.redis.holdMessages()
    backend.redis.duplicateMessages(next: 5)
    for value in 1...5 {
      $written.withLock { $0 = value }
      // A save may commit the same value once more.
      try await writer.flush(within: patience)
    }
    #expect(backend.redis.heldMessages.count == 10)
    backend.redis.releaseMessage(at: 9)
    try await $read.becomes(5)
    try await eventually("the value is read") { way.bytesRead > before }
    for index in (0..<9).reversed() { backend.redis.releaseMessage(at: index) }
    backend.redis.releaseMessages()
    // The message about this change is received after all others.
    ends[0].withLock { $0 = 1 }
    try await ends[1].becomes(1)
    #expect(read == 5)
    #expect(written == 5)
    $written.withLock { $0 = 6 }
    try await $read.becomes(6)
  }

  @Test("The first read of a value never replaces a newer value from a message", arguments: BackendKind.allCases)
  func firstRead(kind: BackendKind) async throws {
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
