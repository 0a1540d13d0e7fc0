import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// In each test, a gate is opened only after the events that must not wait for it.
@Suite("Slow user code", .timeLimit(.minutes(5)), .endsStores)
struct SlowCodeTests {
  @Test("A slow atomic update delays no other value", arguments: BackendKind.allCases)
  func slowUpdate(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (store, other) = (try backend.patientStore("service"), try backend.patientStore("other"))
    let (slow, quick) = (
      Shared(wrappedValue: 0, .redis("slow", store: store)), Shared(wrappedValue: 0, .redis("quick", store: store))
    )
    @Shared(.redis("quick", store: other)) var others = 0
    try await slow.load()
    try await quick.load()
    try await $others.load()
    let gate = Gate()
    defer { gate.open() }
    let updating = Task {
      try await slow.updateAtomically { value in
        gate.pass()
        value += 1
      }
    }
    try await gate.isReached()
    for round in 1...20 {
      quick.withLock { $0 = round * 2 }
      try await quick.save()
      try await $others.becomes(round * 2)
      try await $others.updateAtomically { $0 += 1 }
      try await quick.becomes(round * 2 + 1)
      try await quick.updateAtomically { $0 += 1 }
    }
    gate.open()
    try await updating.value
    #expect(slow.wrappedValue == 1)
    #expect(try backend.get("slow") == "1")
    // The value no longer needs the thread that the update had blocked.
    slow.withLock { $0 = 5 }
    try await store.flush(within: patience)
    #expect(try backend.get("slow") == "5")
  }

  @Test("Slow encoding delays no other value", arguments: BackendKind.allCases)
  func slowEncoding(kind: BackendKind) async throws {
    let name = UUID().uuidString
    defer { Gated.forget(name) }
    let backend = try kind.make()
    let store = try backend.patientStore("service")
    @Shared(.redis("slow", store: store)) var slow = Gated(gates: name)
    @Shared(.redis("quick", store: store)) var quick = 0
    try await $slow.load()
    try await $quick.load()
    let gate = Gated.closeEncoding(name)
    defer { gate.open() }
    $slow.withLock { $0.number = 1 }
    try await gate.isReached()
    for round in 1...20 {
      $quick.withLock { $0 = round }
      try await $quick.save()
    }
    // A change that is made meanwhile is sent after it.
    $slow.withLock { $0.number = 2 }
    gate.open()
    try await store.flush(within: patience)
    #expect(try backend.get("slow")?.contains("\"number\":2") == true)
  }

  @Test("Slow decoding delays no other value", arguments: BackendKind.allCases)
  func slowDecoding(kind: BackendKind) async throws {
    let name = UUID().uuidString
    defer { Gated.forget(name) }
    let backend = try kind.make()
    let (writer, reader) = (try backend.patientStore("writer"), try backend.patientStore("reader"))
    @Shared(.redis("slow", store: writer)) var slowWritten = Gated(gates: "none")
    @Shared(.redis("quick", store: writer)) var quickWritten = 0
    @Shared(.redis("slow", store: reader)) var slow = Gated(gates: "none")
    @Shared(.redis("quick", store: reader)) var quick = 0
    try await $slow.load()
    try await $quick.load()
    let gate = Gated.closeDecoding(name)
    defer { gate.open() }
    $slowWritten.withLock { $0 = Gated(number: 1, gates: name) }
    try await gate.isReached()
    for round in 1...20 {
      $quickWritten.withLock { $0 = round }
      try await $quick.becomes(round)
      $quick.withLock { $0 = -round }
      try await $quick.save()
    }
    #expect(slow.number == 0)
    gate.open()
    try await $slow.value { $0.number == 1 }
    $slowWritten.withLock { $0.number = 2 }
    try await $slow.value { $0.number == 2 }
  }

  @Test("A reply that arrives together with a slowly decoded value is not lost")
  func replyBesideSlowDecoding() async throws {
    let name = UUID().uuidString
    defer { Gated.forget(name) }
    let backend = FakeBackend()
    let (writersWay, readersWay) = (Way(), Way())
    let writer = try backend.patientStore("writer", way: writersWay)
    let reader = try backend.patientStore("reader", way: readersWay)
    @Shared(.redis("slow", store: writer)) var slowWritten = Gated(gates: "none")
    @Shared(.redis("slow", store: reader)) var slow = Gated(gates: "none")
    @Shared(.redis("quick", store: reader)) var quick = 0
    for share in [$slowWritten, $slow] { try await share.load() }
    try await $quick.load()
    let gate = Gated.closeDecoding(name)
    defer { gate.open() }
    // The message and the reply are there when the paused server goes on, and the message comes first.
    backend.pause()
    $slowWritten.withLock { $0 = Gated(number: 1, gates: name) }
    let saving = Task { [share = $quick] in
      share.withLock { $0 = 1 }
      // A save that begins after the acknowledgement would commit once more.
      try await reader.flush(within: patience)
    }
    try await eventually("both commits are sent") { writersWay.commitsSent == 1 && readersWay.commitsSent == 1 }
    backend.resume()
    try await gate.isReached()
    try await saving.value
    #expect(readersWay.commitsSent == 1)
    #expect(slow.number == 0)
    gate.open()
    try await $slow.value { $0.number == 1 }
  }

  @Test("A load ends at its deadline, although slow code keeps its value from being shown")
  func loadBesideSlowDecoding() async throws {
    let name = UUID().uuidString
    defer { Gated.forget(name) }
    let backend = FakeBackend()
    let store = try backend.store { $0.operationTimeout = .seconds(1) }
    let gate = Gated.closeDecoding(name)
    defer { gate.open() }
    backend.set("slow", "{\"number\":1,\"gates\":\"\(name)\"}")
    @Shared(.redis("slow", store: store)) var slow = Gated(gates: "none")
    try await gate.isReached()
    let share = $slow
    await #expect(throws: RedisSharedStateError.timedOut(operation: "load()")) { try await share.load() }
    #expect(slow.number == 0)
    gate.open()
    try await $slow.value { $0.number == 1 }
  }

  @Test("Slow validation delays no other value", arguments: BackendKind.allCases)
  func slowCheck(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.patientStore("service")
    let gate = Gate()
    defer { gate.open() }
    let options = RedisSharedKey<Int>.Options(validate: { if $0 > 0 { gate.pass() } })
    let slow = Shared(wrappedValue: 0, .redis("slow", store: store, options: options))
    @Shared(.redis("quick", store: store)) var quick = 0
    try await slow.load()
    try await $quick.load()
    slow.withLock { $0 = 1 }
    try await gate.isReached()
    for round in 1...20 {
      $quick.withLock { $0 = round }
      try await $quick.save()
    }
    #expect(try backend.get("slow") == nil)
    gate.open()
    try await store.flush(within: patience)
    #expect(try backend.get("slow") == "1")
  }

  @Test("A value can be saved after its slow validation has failed", arguments: BackendKind.allCases)
  func slowFailure(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store("service") {
      $0.operationTimeout = patience
      // Otherwise the second gate would block the thread of the test, because the encoding before it was quick.
      $0.sendsOnCallersThread = false
    }
    let gates = [Gate(), Gate()]
    defer { for gate in gates { gate.open() } }
    let options = RedisSharedKey<Int>.Options(validate: { value in
      guard value < 0 else { return }
      gates[-value - 1].pass()
      throw Negative()
    })
    let slow = Shared(wrappedValue: 0, .redis("slow", store: store, options: options))
    @Shared(.redis("quick", store: store)) var quick = 0
    try await slow.load()
    try await $quick.load()
    for (round, gate) in zip(1...2, gates) {
      slow.withLock { $0 = -round }
      try await gate.isReached()
      // Another thread has taken over the role of the blocked thread.
      $quick.withLock { $0 = round }
      try await $quick.save()
      gate.open()
      await #expect(throws: RedisSharedStateError.changesGivenUp(names: ["slow"], further: 0)) {
        try await store.flush(within: patience)
      }
      slow.withLock { $0 = round }
      try await slow.save()
      #expect(try backend.get("slow") == "\(round)")
    }
  }

  private struct Negative: Error {}

  @Test("A slow merge delays no other value", arguments: BackendKind.allCases)
  func slowMerge(kind: BackendKind) async throws {
    let name = UUID().uuidString
    defer { Gated.forget(name) }
    let backend = try kind.make()
    let way = Way()
    let (store, other) = (try backend.patientStore("service", way: way), try backend.patientStore("other"))
    @Shared(.redis("slow", store: store)) var slow = Gated(gates: name)
    @Shared(.redis("slow", store: other)) var others = Gated(gates: name)
    @Shared(.redis("quick", store: store)) var quick = 0
    try await $slow.save()
    try await $others.load()
    try await backend.cutOff(store, "service", way)
    $others.withLock { $0.number += 10 }
    try await $others.save()
    $slow.withLock { $0.number += 1 }
    let gate = Gated.closeMerging(name)
    defer { gate.open() }
    way.open()
    try await gate.isReached()
    for round in 1...20 {
      $quick.withLock { $0 = round }
      try await $quick.save()
    }
    #expect(try backend.get("slow")?.contains("\"number\":10") == true)
    gate.open()
    for share in [$slow, $others] { try await share.value { $0.number == 11 } }
  }

  @Test("Slow encoding in an atomic update delays no other value", arguments: BackendKind.allCases)
  func slowEncodingOfUpdate(kind: BackendKind) async throws {
    let name = UUID().uuidString
    defer { Gated.forget(name) }
    let backend = try kind.make()
    let store = try backend.patientStore("service")
    let slow = Shared(wrappedValue: Gated(gates: name), .redis("slow", store: store))
    @Shared(.redis("quick", store: store)) var quick = 0
    try await slow.load()
    try await $quick.load()
    let gate = Gated.closeEncoding(name)
    defer { gate.open() }
    let updating = Task { try await slow.updateAtomically { $0.number += 1 } }
    try await gate.isReached()
    for round in 1...20 {
      try await $quick.updateAtomically { $0 = round }
    }
    #expect(try backend.get("slow") == nil)
    gate.open()
    try await updating.value
    #expect(slow.wrappedValue.number == 1)
  }

  @Test("Concurrent slow updates of many values delay no other value", arguments: BackendKind.allCases)
  func manySlowValues(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.patientStore("service")
    let slow = (0..<20).map { Shared(wrappedValue: 0, .redis("slow\($0)", store: store)) }
    @Shared(.redis("quick", store: store)) var quick = 0
    for share in slow { try await share.load() }
    let gate = Gate()
    defer { gate.open() }
    let updating = slow.map { share in
      Task {
        try await share.updateAtomically { value in
          gate.pass()
          value += 1
        }
      }
    }
    try await gate.isReached(by: slow.count)
    for round in 1...5 {
      $quick.withLock { $0 = round }
      try await $quick.save()
    }
    gate.open()
    for task in updating { try await task.value }
    for share in slow { #expect(share.wrappedValue == 1) }
  }

  @Test("A caller waiting for slow code times out, and its update takes no effect", arguments: BackendKind.allCases)
  func timeOut(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store { $0.operationTimeout = .seconds(2) }
    @Shared(.redis("slow", store: store)) var slow = 0
    try await $slow.load(within: patience)
    let gate = Gate()
    defer { gate.open() }
    let updating = Task { [$slow] in
      try await $slow.updateAtomically { value in
        gate.pass()
        value += 1
      }
    }
    try await gate.isReached()
    await #expect(throws: RedisSharedStateError.timedOut(operation: "updateAtomically()")) { try await updating.value }
    gate.open()
    // This update waits until the code has ended. The one whose caller no longer waits takes no effect.
    #expect(
      try await $slow.updateAtomically(within: patience) {
        $0 += 10; return $0
      } == 10
    )
    #expect(try backend.get("slow") == "10")
  }

  @Test(
    "A connection that breaks while slow code runs is replaced, and the code's result takes effect",
    arguments: BackendKind.allCases
  )
  func reconnection(kind: BackendKind) async throws {
    let backend = try kind.make()
    let way = Way()
    let store = try backend.patientStore("service", way: way)
    @Shared(.redis("slow", store: store)) var slow = 0
    @Shared(.redis("quick", store: store)) var quick = 0
    try await $slow.load()
    try await $quick.load()
    for round in 1...2 {
      let gate = Gate()
      defer { gate.open() }
      let updating = Task { [share = $slow] in
        try await share.updateAtomically { value in
          gate.pass()
          value += 1
        }
      }
      try await gate.isReached()
      try await backend.cutOff(store, "service", way)
      way.open()
      try await store.isUp()
      try await $quick.updateAtomically { $0 += 1 }
      gate.open()
      try await updating.value
      #expect(slow == round && quick == round)
    }
    #expect(try backend.get("slow") == "2")
  }

  @Test("A shutdown does not wait for slow code", arguments: BackendKind.allCases)
  func shutdown(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.patientStore("service")
    @Shared(.redis("slow", store: store)) var slow = 0
    try await $slow.load()
    let gate = Gate()
    defer { gate.open() }
    let updating = Task { [share = $slow] in
      try await share.updateAtomically { value in
        gate.pass()
        value += 1
      }
    }
    try await gate.isReached()
    await store.shutdown(within: .milliseconds(50))
    #expect(store.status == .stopped)
    try await eventually("both connections are closed") {
      try ConnectionPurpose.allCases.allSatisfy { purpose in try !backend.isConnected(purpose, of: "service") }
    }
    await #expect(throws: RedisSharedStateError.stopped) { try await updating.value }
    gate.open()
  }

  @Test("A slow log handler delays no value")
  func slowLog() async throws {
    let gate = Gate()
    defer { gate.open() }
    let backend = FakeBackend()
    let store = try backend.store(logger: .waiting(at: gate))
    @Shared(.redis("quick", store: store)) var quick = 0
    try await gate.isReached()
    $quick.withLock { $0 = 1 }
    try await $quick.save()
    #expect(backend.get("quick") == "1")
    gate.open()
  }
}

extension Backend {
  /// A store whose operations wait as long as the tests do.
  fileprivate func patientStore(_ label: String, way: Way = Way()) throws -> RedisStore {
    try store(label, way: way) { $0.operationTimeout = patience }
  }
}
