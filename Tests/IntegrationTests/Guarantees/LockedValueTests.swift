import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

/// A closure of `withLock` may take any time: only its own value waits.
@Suite("Bounded: a value that is locked", .timeLimit(.minutes(5)), .endsStores)
struct LockedValueTests {
  @Test(
    "A locked value blocks no changes, saves or flushes of other values, local or remote",
    arguments: BackendKind.allCases
  )
  func others(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (store, other) = (try backend.store("first"), try backend.store("second"))
    let locked = Shared(wrappedValue: Limits(), .redis("locked", store: store))
    let free = Shared(wrappedValue: 0, .redis("free", store: store))
    let othersLocked = Shared(wrappedValue: Limits(), .redis("locked", store: other))
    let othersFree = Shared(wrappedValue: 0, .redis("free", store: other))
    for share in [locked, othersLocked] { try await share.load() }
    for share in [free, othersFree] { try await share.load() }

    let held = HeldLock(locked) { $0.maximum = 1 }
    // The first change has arrived once the one that was sent after it has.
    othersLocked.withLock { $0.note = "others" }
    try await othersLocked.save()
    othersFree.withLock { $0 = 1 }
    try await free.becomes(1)
    free.withLock { $0 = 2 }
    try await free.save()
    try await othersFree.becomes(2)
    try await store.flush(within: patience)
    try await free.updateAtomically { $0 += 1 }
    try await free.load()
    #expect(try backend.get("free") == "3")
    #expect(!held.hasReturned)

    held.end()
    let merged = Limits(maximum: 1, note: "others")
    try await locked.becomes(merged)
    try await othersLocked.becomes(merged)
    #expect(locked.saveError == nil && locked.loadError == nil)
  }

  @Test("A locked value shows a remote change after its closure throws", arguments: BackendKind.allCases)
  func throwing(kind: BackendKind) async throws {
    struct Refused: Error {}
    let pair = try await Pair(kind, Limits())
    let held = HeldLock(pair.first) { _ in throw Refused() }
    for round in 1...3 {
      pair.second.withLock { $0.maximum = round }
      try await pair.second.save()
    }
    let load = Task { try await pair.first.load() }
    held.end()
    try await load.value
    #expect(pair.first.wrappedValue == Limits(maximum: 3))
    try await pair.settle()
    #expect(try pair.backend.get("value")?.contains("3") == true)
  }

  @Test("Changes made before a lock and by its closure are both saved", arguments: BackendKind.allCases)
  func pending(kind: BackendKind) async throws {
    let pair = try await Pair(kind, Limits())
    try pair.backend.pause()
    pair.first.withLock { $0.note = "before" }
    let held = HeldLock(pair.first) { $0.maximum = 1 }
    try pair.backend.resume()
    let save = Task { try await pair.first.save() }
    let flush = Task { try await pair.stores.0.flush(within: patience) }
    // Only operations on this value wait for the closure.
    let other = Shared(wrappedValue: 0, .redis("other", store: pair.stores.0))
    other.withLock { $0 = 1 }
    try await other.save()
    pair.second.withLock { $0.maximum = 7 }
    try await pair.second.save()
    #expect(!held.hasReturned)
    held.end()
    try await save.value
    try await flush.value
    // The closure makes a separate change. A flush waits for it once the closure has ended.
    try await eventually("the closure has ended") { held.hasReturned }
    try await pair.settle()
    let merged = Limits(maximum: 1, note: "before")
    #expect(pair.first.wrappedValue == merged)
    #expect(pair.second.wrappedValue == merged)
  }

  @Test("A value is saved even if one locking closure follows another without a gap", arguments: BackendKind.allCases)
  func noGap(kind: BackendKind) async throws {
    let pair = try await Pair(kind, Limits())
    // Almost always some closure holds the value.
    var held = HeldLock(pair.first)
    let isSaved = Atomic(false)
    let save = Task {
      try await pair.first.save()
      isSaved.store(true, ordering: .releasing)
    }
    var round = 0
    while !isSaved.load(ordering: .acquiring) {
      round += 1
      let (before, number) = (held, round)
      Thread { before.end() }.start()
      held = HeldLock(pair.first) { $0.maximum = number }
      await Task.yield()
    }
    try await save.value
    held.end()
    try await eventually("the closure has ended") { [held] in held.hasReturned }
    try await pair.settle()
    #expect(pair.first.wrappedValue == pair.second.wrappedValue)
    #expect(pair.first.wrappedValue.maximum == round)
  }

  @Test("A locked value reports a lost connection and stops with its store", arguments: BackendKind.allCases)
  func status(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store("first")
    let count = Shared(wrappedValue: 0, .redis("count", store: store))
    try await count.load()
    let held = HeldLock(count) { $0 = 1 }
    try backend.goDown()
    try await count.status { $0.loadError != nil }
    try backend.comeBack()
    try await store.isUp()
    held.end()
    try await count.save()
    try await count.status { $0.loadError == nil }
    #expect(try backend.get("count") == "1")
    // A snapshot that has waited for a closure is followed by another one, which would wait for the next closure.
    try await store.flush(within: patience)
    let last = HeldLock(count) { $0 = 2 }
    await store.shutdown(within: patience)
    last.end()
    try await count.status { $0.saveError as? RedisSharedStateError == .stopped }
  }
}
