import Foundation
import Logging
import MetricsTestKit
import Observation
import SharedState
import SharedStateRedis
import Synchronization
import SharedStateRedisTesting
import Testing

@Suite("Bounded", .timeLimit(.minutes(5)), .endsStores)
struct BoundedTests {
  @Test(
    "A blocked observer neither stops the store's thread nor accumulates notifications",
    arguments: BackendKind.allCases
  )
  func blockedObserver(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (writer, reader) = (try backend.store("writer"), try backend.store("reader"))
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    try await $written.load()
    try await $read.load()

    let calls = Atomic(0)
    let isBlocked = AsyncStream.makeStream(of: Void.self)
    let release = DispatchSemaphore(value: 0)
    // If the test fails, no thread stays blocked.
    defer { release.signal() }
    let observed = $read
    @Sendable func observe() {
      withObservationTracking {
        _ = observed.wrappedValue
      } onChange: {
        let isFirst = calls.add(1, ordering: .relaxed).newValue == 1
        // Before it blocks, so that every further delivery is counted.
        observe()
        guard isFirst else { return }
        isBlocked.continuation.yield()
        #expect(release.waitInTime())
      }
    }
    observe()
    $written.withLock { $0 = 1 }
    try await inTime("the observer to block") { for await _ in isBlocked.stream { break } }
    // The observer's handler is blocked. Everything else goes on.
    for round in 2...50 {
      $written.withLock { $0 = round }
      try await $read.becomes(round)
    }
    #expect(calls.load(ordering: .relaxed) == 1)
    release.signal()
    try await eventually("the observer is notified of the changes meanwhile") { calls.load(ordering: .relaxed) > 1 }
    $written.withLock { $0 = 51 }
    try await eventually("the observer is notified of the next change") { calls.load(ordering: .relaxed) > 2 }
    // All changes meanwhile were one delivery; the last one may have come after it.
    #expect((3...4).contains(calls.load(ordering: .relaxed)))
  }

  @Test(
    "A blocked observer delays no observer of another value or store, and is logged once",
    arguments: BackendKind.allCases
  )
  func unblockedObservers(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let writer = try backend.store("writer")
    let blocked = try backend.store("blocked", logger: journal.logger("blocked"))
    let free = try backend.store("free", logger: journal.logger("free"))
    let writes = ["a", "b"].map { Shared(wrappedValue: 0, .redis($0, store: writer)) }
    let reads = [("a", blocked), ("b", blocked), ("a", free)].map { Shared(wrappedValue: 0, .redis($0, store: $1)) }
    for share in writes + reads { try await share.load() }
    let told = Mutex([0, 0, 0])
    let release = DispatchSemaphore(value: 0)
    defer { release.signal() }
    @Sendable func observe(_ index: Int) {
      withObservationTracking {
        _ = reads[index].wrappedValue
      } onChange: {
        told.withLock { $0[index] += 1 }
        if index == 0 { release.waitInTime() }
        observe(index)
      }
    }
    for index in reads.indices { observe(index) }
    for round in 1...3 {
      for share in writes { share.withLock { $0 = round } }
      try await eventually("the other observers are notified") {
        told.withLock { $0[0] == 1 && $0[1] >= round && $0[2] >= round }
      }
    }
    try await eventually("the blocked observer is logged") { !journal.entries("has blocked").isEmpty }
    release.signal()
    try await eventually("the blocked observer continues") { told.withLock { $0[0] == 2 } }
    let named = journal.entries("has blocked")
    #expect(named.map(\.store) == ["blocked"] && named.map(\.name) == ["a"] && named.map(\.level) == [.warning])
  }

  @Test(
    "A blocked log of one store does not prevent another store from logging its blocked observer",
    arguments: BackendKind.allCases
  )
  func blockedLog(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (gate, journal) = (Gate(), Journal())
    defer { gate.open() }
    let writer = try backend.store("writer")
    // The store's first log line blocks all others.
    let stuck = try backend.store("stuck", logger: .waiting(at: gate))
    let other = try backend.store("other", logger: journal.logger("other"))
    let written = Shared(wrappedValue: 0, .redis("count", store: writer))
    let release = DispatchSemaphore(value: 0)
    let blocked = Atomic(0)
    defer { for _ in 0..<2 { release.signal() } }
    for (index, store) in [stuck, other].enumerated() {
      let read = Shared(wrappedValue: 0, .redis("count", store: store))
      try await read.load()
      try await gate.isReached()
      let value = written.wrappedValue + 1
      withObservationTracking {
        _ = read.wrappedValue
      } onChange: {
        blocked.add(1, ordering: .relaxed)
        release.waitInTime()
      }
      written.withLock { $0 = value }
      try await eventually("the observer blocks") { blocked.load(ordering: .relaxed) == index + 1 }
    }
    try await eventually("it is logged") { !journal.entries("has blocked", of: "other", name: "count").isEmpty }
  }

  @Test(
    "A burst of local changes results in few commits, and the last value arrives",
    arguments: BackendKind.allCases
  )
  func burst(kind: BackendKind) async throws {
    let backend = try kind.make()
    let way = Way()
    let (writer, reader) = (try backend.store("writer", way: way), try backend.store("reader"))
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    try await $written.load()
    try await $read.load()
    // Without answers, the speed of the server does not matter.
    try backend.pause()
    let changes = repetitions(200_000)
    for change in 1...changes { $written.withLock { $0 = change } }
    try backend.resume()
    try await $read.becomes(changes)
    #expect(way.commitsSent < 100)
  }

  @Test("Many malformed messages are ignored and break no connection", arguments: BackendKind.allCases)
  func stormOfMessages(kind: BackendKind) async throws {
    let backend = try kind.make()
    let metrics = TestMetrics()
    let store = try backend.store(metrics: metrics)
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    $count.withLock { $0 = 1 }
    try await $count.save()
    let code = String(repeating: "0", count: 40)
    let payloads = [
      "", "\n", "hello", "2 1 0 s w\n5", "1 \(code) s x 0 s 0 w\n5", "1 \(code) s 9 9 s 0 w\n5",
      "1 \(code) z 9 0 s 0 w\n5",
    ]
    for payload in payloads {
      for _ in 1...50 { try backend.publish(payload, on: "changes:{count}") }
    }
    try await eventually("all messages are received") {
      metrics.counterTotal(label: "shared_state_malformed_messages") == Int64(50 * payloads.count)
    }
    try await $count.load()
    #expect(count == 1)
    #expect($count.loadError == nil)
    #expect(store.status == .connected || store.status == .inProcess)
    #expect(metrics.counterTotal(label: "shared_state_disconnections") == 0)
  }

  @Test(
    "A subscriber that is disconnected because it stopped reading reconnects and catches up",
    arguments: BackendKind.allCases
  )
  func cutSubscriber(kind: BackendKind) async throws {
    let limit = "client-output-buffer-limit pubsub 1mb 1mb 1"
    let backend: any Backend = kind == .fake ? FakeBackend() : try ServerBackend(configuration: [limit])
    let (gate, way) = (Gate(), Way())
    defer { gate.open() }
    let writer = try backend.store("writer")
    let reader = try backend.store("reader", way: way) { $0.antiEntropyInterval = .seconds(3_600) }
    @Shared(.redis("number", store: writer)) var written = 0
    @Shared(.redis("number", store: reader)) var read = 0
    try await $written.save()
    try await $read.load()

    // This simulates a reading thread that gets no processor time.
    way.stopListening(at: gate)
    $written.withLock { $0 = 1 }
    try await $written.save()
    try await gate.isReached()
    $written.withLock { $0 = 2 }
    try await $written.save()
    let junk = String(repeating: "x", count: 1 << 20)
    try await eventually("the server closes the connection") {
      try backend.publish(junk, on: "changes:{number}")
      return try !backend.isConnected(.subscriber, of: "reader")
    }
    // The message about this change reaches no connection of the reader.
    $written.withLock { $0 = 3 }
    try await $written.save()
    gate.open()
    try await $read.becomes(3)
    $written.withLock { $0 = 4 }
    try await $read.becomes(4)
    try await $read.status { $0.loadError == nil }
  }
}
