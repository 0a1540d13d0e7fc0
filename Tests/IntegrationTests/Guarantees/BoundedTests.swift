import Foundation
import Observation
import SharedState
import SharedStateRedis
import Synchronization
import Testing

@Suite("Bounded")
struct BoundedTests {
  @Test(
    "a blocked observer neither stops the subscriber thread nor piles up deliveries",
    // One after the other, because all share the delivery thread that is blocked.
    .serialized,
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
    // Whatever else fails, nobody stays blocked.
    defer { release.signal() }
    withObservationTracking {
      _ = read
    } onChange: {
      calls.add(1, ordering: .relaxed)
      isBlocked.continuation.yield()
      release.wait()
    }
    $written.withLock { $0 = 1 }
    try await Deadline.run(within: patience) {
      for await _ in isBlocked.stream { break }
    } onTimeout: {
      WaitedInVain()
    }
    // The observer's handler is stuck. Everything else goes on.
    for round in 2...50 {
      $written.withLock { $0 = round }
      try await $written.save()
    }
    try await $read.becomes(50)
    #expect(calls.load(ordering: .relaxed) == 1)
  }

  @Test(
    "a burst of local changes becomes few commits, and the last value always arrives",
    arguments: BackendKind.allCases
  )
  func burst(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (writer, reader) = (try backend.store("writer"), try backend.store("reader"))
    @Shared(.redis("count", store: writer)) var written = 0
    @Shared(.redis("count", store: reader)) var read = 0
    try await $written.load()
    try await $read.load()
    for round in 1...200_000 { $written.withLock { $0 = round } }
    #expect(writer.pendingChanges <= 1)
    try await $read.becomes(200_000)
  }

  @Test("a storm of messages that mean nothing is ignored", arguments: BackendKind.allCases)
  func stormOfMessages(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    $count.withLock { $0 = 1 }
    try await $count.save()
    for payload in ["", "\n", "hello", "2 1 0 s w\n5", "1 x 0 s w\n5", "1 9 9 s w\n5", "1 9 0 z w\n5", "1 9 0 s \n5"] {
      for _ in 1...50 { try backend.publish(payload, on: "changes:{count}") }
    }
    try await $count.load()
    #expect(count == 1)
    #expect($count.loadError == nil)
    #expect(store.status == .connected || store.status == .inProcess)
  }

  @Test(
    "a subscriber that the server gives up, because it has stopped reading, comes back and catches up",
    arguments: BackendKind.allCases
  )
  func cutSubscriber(kind: BackendKind) async throws {
    let limit = "client-output-buffer-limit pubsub 1mb 1mb 1"
    let backend: any Backend = kind == .fake ? FakeBackend() : try ServerBackend(configuration: [limit])
    let (writer, reader) = (try backend.store("writer"), try backend.store("reader"))
    let gate = DecodingGate()
    let decoder = JSONDecoder()
    decoder.userInfo[DecodingGate.key] = gate
    @Shared(.redis("number", store: writer)) var written = SlowNumber()
    // Else the thread that reads may be the one that decodes, when it is faster than the message.
    @Shared(.redis("number", store: reader, options: .init(decoder: decoder, detectsForeignEdits: false)))
    var read = SlowNumber()
    try await $written.save()
    try await $read.load()

    // The thread that reads from the server is kept busy by the decoding of a value.
    gate.close()
    $written.withLock { $0.number = 1 }
    try await $written.save()
    try await eventually("the value is being decoded") { gate.isOccupied }
    $written.withLock { $0.number = 2 }
    try await $written.save()
    let junk = String(repeating: "x", count: 1 << 20)
    try await eventually("the server gives it up") {
      try backend.publish(junk, on: "changes:{number}")
      return try !backend.isConnected(.subscriber, of: "reader")
    }
    gate.open()
    try await $read.value { $0.number == 2 }
    $written.withLock { $0.number = 3 }
    try await $read.value { $0.number == 3 }
    try await $read.status { $0.loadError == nil }
  }
}

/// A number that takes as long to decode as a gate says.
private struct SlowNumber: Codable, Hashable, Sendable {
  var number = 0

  init() {}

  init(from decoder: any Decoder) throws {
    (decoder.userInfo[DecodingGate.key] as? DecodingGate)?.pass()
    number = try decoder.singleValueContainer().decode(Int.self)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}

private final class DecodingGate: Sendable {
  static let key = CodingUserInfoKey(rawValue: "gate").unsafelyUnwrapped

  private struct State {
    var isClosed = false
    var waiting = 0
  }

  private let state = Mutex(State())
  private let changed = NSCondition()

  var isOccupied: Bool { state.withLock { $0.waiting > 0 } }

  func close() { state.withLock { $0.isClosed = true } }

  func open() {
    changed.lock()
    state.withLock { $0.isClosed = false }
    changed.broadcast()
    changed.unlock()
  }

  func pass() {
    changed.lock()
    state.withLock { $0.waiting += 1 }
    while state.withLock({ $0.isClosed }) { changed.wait() }
    state.withLock { $0.waiting -= 1 }
    changed.unlock()
  }
}
