import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("FieldsMerge: elements of collections", .timeLimit(.minutes(5)), .endsStores)
struct ElementsMergeTests {
  private enum Region: String, Codable, Hashable, Sendable { case north, south, west }

  private struct Item: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var title = "an item"
    var price = 1
  }

  private struct Shop: Codable, Hashable, Sendable {
    var tags: Set<String> = ["a", "b"]
    var limits: [Region: Int] = [.north: 1, .south: 1]
    var items = [Item(id: 1), Item(id: 2), Item(id: 3)]
    var visits = MergingCounter(10)
    var note = ""
  }

  @Test("Concurrent changes to one collection are both kept", arguments: BackendKind.allCases)
  func together(kind: BackendKind) async throws {
    let pair = try await Pair(kind, Shop())
    try await pair.store(Shop())
    try await pair.changeTogether {
      $0.tags.insert("c")
      $0.limits[.north] = 5
      $0.items[0].price = 7
      $0.items.append(Item(id: 4))
      $0.visits.value += 1
    } _: {
      $0.tags.remove("a")
      $0.limits[.west] = 3
      $0.items.swapAt(1, 2)
      $0.items[0].title = "another one"
      $0.visits.value += 2
    }
    let merged = Shop(
      tags: ["b", "c"],
      limits: [.north: 5, .south: 1, .west: 3],
      items: [Item(id: 1, title: "another one", price: 7), Item(id: 3), Item(id: 2), Item(id: 4)],
      visits: MergingCounter(13)
    )
    #expect(pair.first.wrappedValue == merged)
    #expect(pair.second.wrappedValue == merged)
    #expect(pair.first.saveError == nil && pair.second.saveError == nil)
  }

  @Test(
    "The key's removal policy decides whether an element that is both removed and changed remains",
    arguments: BackendKind.allCases
  )
  func removal(kind: BackendKind) async throws {
    for (policy, isRemoverLast, expected) in [
      (RemovalPolicy.laterWins, true, [Int]()), (.laterWins, false, [1]),
      (.changeWins, true, [1]), (.changeWins, false, [1]),
      (.removalWins, true, []), (.removalWins, false, []),
    ] {
      let backend = try kind.make()
      let (way, otherWay) = (Way(), Way())
      let (first, second) = (try backend.store("first", way: way), try backend.store("second", way: otherWay))
      let options = RedisSharedKey<[Item]>.Options(removal: policy)
      @Shared(.redis("items", store: first, options: options)) var items = [Item(id: 1)]
      @Shared(.redis("items", store: second, options: options)) var others = [Item(id: 1)]
      try await $items.save()
      try await $others.load()
      try await backend.cutOff(first, "first", way)
      try await backend.cutOff(second, "second", otherWay)
      $items.withLock { $0 = [] }
      $others.withLock { $0[0].price = 7 }
      if isRemoverLast { otherWay.open() } else { way.open() }
      try await (isRemoverLast ? second : first).flush(within: patience)
      if isRemoverLast { way.open() } else { otherWay.open() }
      try await (isRemoverLast ? first : second).flush(within: patience)
      try await $items.value { $0.map(\.id) == expected }
      try await $others.value { $0.map(\.id) == expected }
      #expect(items.first.map(\.price) ?? 7 == 7)
    }
  }

  @Test(
    "A key option stores dictionaries as arrays that other Swift programs can decode",
    arguments: BackendKind.allCases
  )
  func arraysForDictionaries(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    let options = RedisSharedKey<[Region: Int]>.Options(usesArraysForDictionaries: true)
    @Shared(.redis("limits", store: store, options: options)) var limits: [Region: Int] = [.north: 1, .south: 2]
    try await $limits.save()
    let stored = try #require(try backend.get("limits"))
    #expect(stored == #"["north",1,"south",2]"#)
    #expect(try JSONDecoder().decode([Region: Int].self, from: Data(stored.utf8)) == limits)
    // Services without the option can read the array, and write an object.
    @Shared(.redis("limits", store: try backend.store("other"))) var others: [Region: Int] = [:]
    try await $others.load()
    #expect(others == limits)
    $others.withLock { $0[.west] = 3 }
    try await $others.save()
    #expect(try backend.get("limits") == #"{"north":1,"south":2,"west":3}"#)
    try await $limits.value { $0[.west] == 3 }
  }

  @Test("Elements of an IdentifiedArray merge by identity", arguments: BackendKind.allCases)
  func identifiedArray(kind: BackendKind) async throws {
    let items: IdentifiedArrayOf<Item> = [Item(id: 1), Item(id: 2), Item(id: 3)]
    let pair = try await Pair(kind, items)
    try await pair.store(items)
    try await pair.changeTogether {
      $0[id: 1]?.price = 7
      $0.append(Item(id: 4))
    } _: {
      $0[id: 1]?.title = "another one"
      $0.remove(id: 2)
    }
    let merged: IdentifiedArrayOf<Item> = [Item(id: 1, title: "another one", price: 7), Item(id: 3), Item(id: 4)]
    #expect(pair.first.wrappedValue == merged)
    #expect(pair.second.wrappedValue == merged)
  }

  @Test("Sets and dictionaries are written in a fixed order, so unchanged values keep their bytes")
  func canonicalOrder() async throws {
    let backend = FakeBackend()
    let store = try backend.store()
    @Shared(.redis("shop", store: store)) var shop = Shop()
    try await $shop.load()
    $shop.withLock { $0.tags = ["z", "é", "b", "a", "10", "9"] }
    try await $shop.save()
    let stored = try #require(backend.redis.get("shop"))
    #expect(stored.contains(#""tags":["10","9","a","b","z","é"]"#))
    #expect(stored.contains(#""limits":{"north":1,"south":1}"#))
    try await $shop.updateAtomically { $0.tags = Set($0.tags.shuffled()) }
    #expect(backend.redis.get("shop") == stored)
  }

  @Test("Unknown fields survive in elements that both services change", arguments: BackendKind.allCases)
  func unknownFields(kind: BackendKind) async throws {
    let pair = try await Pair(kind, Shop())
    let items = #"[{"id":1,"title":"an item","price":1,"unknown":[1]},{"id":2,"title":"an item","price":1}]"#
    try pair.backend.set(
      "value",
      #"{"tags":["a"],"limits":["north",1],"items":\#(items),"visits":10,"note":""}"#
    )
    try await pair.first.value { $0.items.count == 2 && $0.limits == [.north: 1] }
    try await pair.second.value { $0.items.count == 2 }
    try await pair.changeTogether {
      $0.items[0].price = 2
    } _: {
      $0.items[0].title = "known"
    }
    #expect(pair.first.wrappedValue.items[0] == Item(id: 1, title: "known", price: 2))
    #expect(try pair.backend.get("value")?.contains(#"{"id":1,"title":"known","price":2,"unknown":[1]}"#) == true)
  }
}
