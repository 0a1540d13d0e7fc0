import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("Atomic updates", .timeLimit(.minutes(5)), .endsStores)
struct AtomicUpdatesTests {
  struct SoldOut: Error, Equatable {}

  @Test("An atomic update runs on the newest confirmed value, not on the local one", arguments: BackendKind.allCases)
  func newestValue(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(5)
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.first.withLock { $0 = 50 }
    try await pair.first.save()
    #expect(pair.second.wrappedValue == 5)
    let updating = Task { [second = pair.second] in
      try await second.updateAtomically { value in
        defer { value += 1 }
        return value
      }
    }
    try pair.backend.reunite("second")
    #expect(try await updating.value == 50)
    #expect(pair.second.wrappedValue == 51)
    try await pair.first.becomes(51)
  }

  @Test("An atomic update runs after the local change that was made before it", arguments: BackendKind.allCases)
  func localChangeFirst(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    for round in 1...20 {
      pair.first.withLock { $0 = round * 100 }
      #expect(
        try await pair.first.updateAtomically {
          $0 += 1; return $0
        } == round * 100 + 1
      )
      #expect(pair.first.wrappedValue == round * 100 + 1)
      try await pair.second.becomes(round * 100 + 1)
    }
  }

  @Test(
    "An atomic update runs after an earlier local change even if that change meets a conflict",
    arguments: BackendKind.allCases
  )
  func localChangeConflicts(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    for round in 1...10 {
      try pair.backend.pause()
      pair.first.withLock { $0.currency = "\(round)" }
      pair.second.withLock { $0.maxItems = round * 100 }
      let updating = Task { [second = pair.second] in
        try await second.updateAtomically {
          $0.maxItems += 1; return $0.maxItems
        }
      }
      try await eventually("an update is waiting") { pair.stores.1.openUpdates.waiting > 0 }
      try pair.backend.resume()
      #expect(try await updating.value == round * 100 + 1)
      try await pair.settle()
      #expect(pair.first.wrappedValue == ShopConfig(maxItems: round * 100 + 1, currency: "\(round)"))
      #expect(pair.second.wrappedValue == pair.first.wrappedValue)
    }
  }

  @Test(
    "An atomic update runs after an earlier local change even if another update was already waiting",
    arguments: BackendKind.allCases
  )
  func localChangeBetween(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0)
    try await pair.store(1)
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    let earlier = Task { [second = pair.second] in
      try await second.updateAtomically { $0 += 10 }
    }
    try await eventually("the first update is waiting") { pair.stores.1.openUpdates.waiting >= 1 }
    pair.second.withLock { $0 = 100 }
    let later = Task { [second = pair.second] in
      try await second.updateAtomically {
        $0 += 1; return $0
      }
    }
    try await eventually("both updates are waiting") { pair.stores.1.openUpdates.waiting >= 2 }
    try pair.backend.reunite("second")
    try await earlier.value
    #expect(try await later.value == 101)
    try await pair.settle()
    #expect(pair.first.wrappedValue == 101)
    #expect(pair.second.wrappedValue == 101)
  }

  @Test(
    "Each caller gets its own result or error, and a throwing update changes nothing",
    arguments: BackendKind.allCases
  )
  func ownResults(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 10)
    let results = await withTaskGroup(of: Result<Int, any Error>.self) { [first = pair.first] group in
      for _ in 0..<30 {
        group.addTask {
          do {
            return .success(
              try await first.updateAtomically { stock in
                stock -= 1
                guard stock >= 0 else { throw SoldOut() }
                return stock
              }
            )
          } catch {
            return .failure(error)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.compactMap { try? $0.get() }.sorted() == Array(0..<10))
    #expect(results.filter { if case .failure(is SoldOut) = $0 { true } else { false } }.count == 20)
    #expect(pair.first.wrappedValue == 0)
    try await pair.second.becomes(0)
  }

  @Test("Updates that wait together are committed together", arguments: BackendKind.allCases)
  func groupCommit(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    try await $count.updateAtomically { $0 = 1 }
    let commits = try CommitCount(backend)
    try backend.pause()
    let updates = (0..<64).map { _ in
      Task { [$count] in
        try await $count.updateAtomically {
          $0 += 1; return $0
        }
      }
    }
    try await eventually("64 updates are open") { store.openUpdates.waiting + store.openUpdates.sent >= 64 }
    try backend.resume()
    var results: [Int] = []
    for update in updates { results.append(try await update.value) }
    #expect(results.sorted() == Array(2...65))
    #expect(count == 65)
    // The first update is sent at once, and the others wait for its answer.
    let made = try commits.count()
    #expect((1...2).contains(made))
  }

  @Test("An update that changes nothing sees the newest value and commits nothing", arguments: BackendKind.allCases)
  func unchanged(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    try await pair.store(ShopConfig(maxItems: 3))
    let revision = try await pair.stores.0.metadata(for: "value")?.revision
    #expect(try await pair.first.updateAtomically { $0.maxItems } == 3)
    #expect(
      try await pair.first.updateAtomically {
        $0.maxItems = 3; return $0.maxItems
      } == 3
    )
    await #expect(throws: SoldOut.self) {
      try await pair.first.updateAtomically { config in
        config.maxItems = 9
        throw SoldOut()
      }
    }
    #expect(try await pair.stores.0.metadata(for: "value")?.revision == revision)
    #expect(pair.first.wrappedValue.maxItems == 3)
  }

  @Test("An update that leaves the default of an absent value stores nothing", arguments: BackendKind.allCases)
  func unchangedDefault(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    #expect(try await pair.first.updateAtomically { $0.maxItems } == 10)
    #expect(try pair.backend.get("value") == nil)
  }

  @Test(
    "A read verifies an update that changes nothing, so its result is never stale",
    arguments: BackendKind.allCases
  )
  func verified(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store("first")
    let deaf = try backend.store(
      "second",
      configure: { $0.antiEntropyInterval = .seconds(3_600) },
      wrap: { base, _ in DeafConnection(base) }
    )
    let (first, second) = (
      Shared(wrappedValue: 0, .redis("value", store: store)), Shared(wrappedValue: 0, .redis("value", store: deaf))
    )
    for share in [first, second] { try await share.load() }
    for round in 1...20 {
      let updating = Task { try await second.updateAtomically { $0 } }
      first.withLock { $0 = round }
      try await first.save()
      #expect([round - 1, round].contains(try await updating.value))
      #expect(try await second.updateAtomically { $0 } == round)
    }
  }

  /// Brings replies, and nothing else: the service learns of a change only when it reads the value.
  private final class DeafConnection: ForwardingConnection {
    override func receive() -> Arrivals {
      var arrivals = super.receive()
      arrivals.events.removeAll { if case .reply = $0 { false } else { true } }
      return arrivals
    }
  }

  @Test("A derived share updates only its part of the value", arguments: BackendKind.allCases)
  func derived(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    try await withThrowingTaskGroup(of: Void.self) { group in
      for share in [pair.first, pair.second] {
        for _ in 0..<20 {
          group.addTask { try await share.delivery.days.updateAtomically { $0 += 1 } }
          group.addTask { try await share.maxItems.updateAtomically { $0 += 1 } }
        }
      }
      try await group.waitForAll()
    }
    try await pair.first.becomes(ShopConfig(maxItems: 50, delivery: .init(days: 43)))
    try await pair.second.becomes(ShopConfig(maxItems: 50, delivery: .init(days: 43)))
  }

  @Test("An unwrapped optional and an element of a collection are updated in place", arguments: BackendKind.allCases)
  func optionalsAndElements(kind: BackendKind) async throws {
    struct Item: Codable, Hashable, Identifiable, Sendable {
      var id: Int
      var count = 0
    }
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("optional", store: store)) var optional: Int?
    $optional.withLock { $0 = 1 }
    let unwrapped = try #require(Shared($optional))
    try await unwrapped.updateAtomically { $0 += 1 }
    #expect(optional == 2)

    @Shared(.redis("items", store: store)) var items: IdentifiedArrayOf<Item> = [Item(id: 1), Item(id: 2)]
    try await $items[id: 2].updateAtomically { $0?.count += 1 }
    let element = try #require(Shared($items[id: 2]))
    #expect(
      try await element.count.updateAtomically {
        $0 += 1; return $0
      } == 2
    )
    #expect(items[id: 2]?.count == 2)

    // An element that was removed elsewhere is not brought back.
    let other = try backend.store("other")
    @Shared(.redis("items", store: other)) var others: IdentifiedArrayOf<Item> = []
    try await $others.updateAtomically { _ = $0.remove(id: 2) }
    _ = try await element.updateAtomically {
      $0.count += 1; return $0.count
    }
    #expect(items.map(\.id) == [1])
    #expect(try backend.get("items")?.contains("2") == false)
  }

  @Test("An update that is cancelled while it waits never takes effect", arguments: BackendKind.allCases)
  func cancelled(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    try backend.goDown()
    try await store.isDown()
    let updates = (0..<20).map { number in
      Task { [$count] in try await $count.updateAtomically { $0 += number.isMultiple(of: 2) ? 1 : 1_000 } }
    }
    try await eventually("20 updates are waiting") { store.openUpdates.waiting >= 20 }
    for (number, update) in updates.enumerated() where !number.isMultiple(of: 2) { update.cancel() }
    for (number, update) in updates.enumerated() where !number.isMultiple(of: 2) {
      await #expect(throws: CancellationError.self) { try await update.value }
    }
    try backend.comeBack()
    for (number, update) in updates.enumerated() where number.isMultiple(of: 2) { try await update.value }
    #expect(count == 10)
    #expect(try backend.get("count") == "10")
  }

  @Test("An update that is cancelled after it was sent reports an unknown outcome", arguments: BackendKind.allCases)
  func cancelledTooLate(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store {
      // Only the cancellation ends the update, however busy the machine is.
      $0.operationTimeout = .seconds(300)
      $0.requestTimeout = .seconds(300)
      $0.keepAliveInterval = .seconds(300)
    }
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    try backend.pause()
    let update = Task { [$count] in try await $count.updateAtomically { $0 += 1 } }
    try await eventually("an update is sent") { store.openUpdates.sent > 0 }
    update.cancel()
    await #expect(throws: RedisSharedStateError.outcomeUnknown(name: "count")) { try await update.value }
    try backend.resume()
    try await $count.becomes(1)
  }

  @Test("An update in a cancelled task throws and changes nothing")
  func cancelledBefore() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    let hasRun = Atomic(false)
    let update = Task { [$count] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await $count.updateAtomically {
        hasRun.store(true, ordering: .relaxed)
        $0 += 1
      }
    }
    await #expect(throws: CancellationError.self) { try await update.value }
    try await $count.load()
    #expect(hasRun.load(ordering: .relaxed) == false)
    #expect(count == 0)
    #expect(backend.redis.get("count") == nil)
  }

  @Test(
    "An update that times out without a server reports the reason and never takes effect",
    arguments: BackendKind.allCases
  )
  func deadline(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store("service") { $0.operationTimeout = .milliseconds(100) }
    @Shared(.redis("count", store: store)) var count = 0
    try await store.isUp()
    try backend.goDown()
    try await store.isDown()
    let error = await #expect(throws: RedisSharedStateError.self) { try await $count.updateAtomically { $0 += 1 } }
    #expect(error?.code == .unreachable || error?.code == .disconnected)
    try backend.comeBack()
    // If the first update were still to be made, it would come before this one.
    #expect(
      try await $count.updateAtomically(within: patience) {
        $0 += 10; return $0
      } == 10
    )
    #expect(try backend.get("count") == "10")
  }

  @Test("The outcome of an update is unknown if the server does not answer in time", arguments: BackendKind.allCases)
  func deadlineTooLate(kind: BackendKind) async throws {
    let backend = try kind.make()
    // A busy machine sends the update within this time, and does not give up the connection.
    let store = try backend.store("service") { $0.operationTimeout = .seconds(2) }
    @Shared(.redis("count", store: store)) var count = 0
    try await store.isUp()
    try await $count.load(within: patience)
    try backend.pause()
    await #expect(throws: RedisSharedStateError.outcomeUnknown(name: "count")) {
      try await $count.updateAtomically { $0 += 1 }
    }
    try backend.resume()
    try await $count.becomes(1)
  }

  @Test(
    "An update of an unreadable value throws an error and leaves the value unchanged",
    arguments: BackendKind.allCases
  )
  func unreadable(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("count", "\"no number\"")
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    let error = await #expect(throws: RedisSharedStateError.self) { try await $count.updateAtomically { $0 += 1 } }
    guard error?.code == .undecodable else { return _ = Issue.record("\(String(describing: error))") }
    // The same holds while a local change is waiting.
    $count.withLock { $0 = 5 }
    await #expect(throws: RedisSharedStateError.self) { try await $count.updateAtomically { $0 += 1 } }
    #expect(try backend.get("count") == "\"no number\"")
  }

  @Test("An update that makes a value too large throws an error and stores nothing", arguments: BackendKind.allCases)
  func tooLarge(kind: BackendKind) async throws {
    let pair = try await Pair(kind, "", options: .init(maximumBytes: 100))
    let error = await #expect(throws: RedisSharedStateError.self) {
      try await pair.first.updateAtomically { $0 = String(repeating: "a", count: 200) }
    }
    #expect(error?.code == .valueTooLarge)
    #expect(try pair.backend.get("value") == nil)
    try await pair.first.updateAtomically { $0 = "short" }
    try await pair.second.becomes("short")
  }
}
