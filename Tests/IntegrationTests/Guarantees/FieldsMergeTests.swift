import Foundation
import SharedState
import SharedStateRedis
import Testing

@Suite("FieldsMerge", .timeLimit(.minutes(5)), .endsStores)
struct FieldsMergeTests {
  @Test("Concurrent changes to different fields are both kept", arguments: BackendKind.allCases)
  func differentFields(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    try await pair.store(ShopConfig(currency: "EUR"))
    for round in 1...10 {
      try await pair.changeTogether {
        $0.maxItems = round
        $0.delivery.days = round
      } _: {
        $0.discount = .percent(round)
        $0.delivery.carrier = "carrier \(round)"
      }
      let merged = ShopConfig(
        maxItems: round,
        currency: "EUR",
        discount: .percent(round),
        delivery: .init(days: round, carrier: "carrier \(round)")
      )
      #expect(pair.first.wrappedValue == merged)
      #expect(pair.second.wrappedValue == merged)
    }
    #expect(pair.first.saveError == nil && pair.second.saveError == nil)
  }

  @Test(
    "Concurrent changes to different fields are both kept even if nothing was stored before",
    arguments: BackendKind.allCases
  )
  func firstChanges(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    try await pair.changeTogether {
      $0.maxItems = 11
    } _: {
      $0.currency = "EUR"
    }
    #expect(pair.first.wrappedValue == ShopConfig(maxItems: 11, currency: "EUR"))
    #expect(pair.second.wrappedValue == ShopConfig(maxItems: 11, currency: "EUR"))
  }

  @Test("Changes that two services make while the server is unreachable are merged", arguments: BackendKind.allCases)
  func disconnected(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    try await pair.store(ShopConfig(currency: "EUR"))
    try pair.backend.goDown()
    try await pair.stores.0.isDown()
    try await pair.stores.1.isDown()
    for round in 1...100 { pair.first.withLock { $0.maxItems = round } }
    for round in 1...100 { pair.second.withLock { $0.delivery.days = round } }
    try pair.backend.comeBack()
    try await pair.settle()
    let merged = ShopConfig(maxItems: 100, currency: "EUR", delivery: .init(days: 100))
    #expect(pair.first.wrappedValue == merged)
    #expect(pair.second.wrappedValue == merged)
  }

  @Test(
    "A service that reconnects merges its changes with those made by others meanwhile",
    arguments: BackendKind.allCases
  )
  func awayAlone(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    try await pair.store(ShopConfig(maxItems: 5))
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0.discount = .percent(1) }
    for round in 1...20 {
      pair.first.withLock { $0.maxItems = round }
      try await pair.first.save()
    }
    pair.second.withLock { $0.discount = .percent(2) }
    try pair.backend.reunite("second")
    try await pair.settle()
    #expect(pair.first.wrappedValue == ShopConfig(maxItems: 20, discount: .percent(2)))
    #expect(pair.second.wrappedValue == ShopConfig(maxItems: 20, discount: .percent(2)))
  }

  @Test(
    "Of two changes to one field, the later commit wins, and both services show it",
    arguments: BackendKind.allCases
  )
  func sameField(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0.maxItems = 2 }
    pair.first.withLock { $0.maxItems = 1 }
    try await pair.first.save()
    try pair.backend.reunite("second")
    try await pair.settle()
    #expect(pair.first.wrappedValue.maxItems == 2)
    #expect(pair.second.wrappedValue.maxItems == 2)
  }

  @Test("Old and new releases write the same value without losing each other's fields", arguments: BackendKind.allCases)
  func rollingDeploy(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (old, new) = (try backend.store("old"), try backend.store("new"))
    @Shared(.redis("config", store: new)) var newConfig = ShopConfig()
    $newConfig.withLock {
      $0.discount = .fixed(amount: 5, currency: "CHF")
      $0.delivery.carrier = "rail"
      $0.tags = ["a"]
    }
    try await $newConfig.save()
    @Shared(.redis("config", store: old)) var oldConfig = OldShopConfig()
    try await $oldConfig.load()
    for round in 1...10 {
      try backend.pause()
      $oldConfig.withLock {
        $0.maxItems = round
        $0.delivery.days = round
      }
      $newConfig.withLock {
        $0.tags.append("\(round)")
        $0.delivery.carrier = "rail \(round)"
      }
      try backend.resume()
      try await $oldConfig.save()
      try await $newConfig.save()
    }
    try await $oldConfig.updateAtomically { $0.currency = "EUR" }
    try await $newConfig.load()
    #expect(
      newConfig
        == ShopConfig(
          maxItems: 10,
          currency: "EUR",
          discount: .fixed(amount: 5, currency: "CHF"),
          delivery: .init(days: 10, carrier: "rail 10"),
          tags: ["a"] + (1...10).map(String.init)
        )
    )
    #expect(oldConfig.delivery.days == 10)
  }

  @Test("Unchanged numbers keep their digits, and unknown fields keep their text", arguments: BackendKind.allCases)
  func digits(kind: BackendKind) async throws {
    struct Counted: Codable, Hashable, Sendable {
      var count = 0
      var id: Int64 = 0
    }
    let backend = try kind.make()
    let unknown = #""price":0.10000000000000000555111512312578270, "big" : 123456789012345678901234567890,"#
    let text = #"{"count":1,\#(unknown)"text":"A","id":9223372036854775807}"#
    try backend.set("value", text)
    let store = try backend.store()
    @Shared(.redis("value", store: store)) var value = Counted()
    try await $value.load()
    $value.withLock { $0.count = 2 }
    try await $value.save()
    #expect(try backend.get("value") == text.replacingOccurrences(of: #""count":1"#, with: #""count":2"#))
    #expect(value.id == .max)
    try await $value.updateAtomically { $0.count = 3 }
    #expect(try backend.get("value") == text.replacingOccurrences(of: #""count":1"#, with: #""count":3"#))
  }

  @Test("An enumeration is replaced as a whole and never mixed", arguments: BackendKind.allCases)
  func enumerations(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    try await pair.store(ShopConfig(discount: .percent(1)))
    for round in 1...5 {
      let (one, other) = (
        ShopConfig.Discount.percent(round + 1), ShopConfig.Discount.fixed(amount: round, currency: "EUR")
      )
      try await pair.changeTogether {
        $0.discount = one
      } _: {
        $0.discount = other
      }
      #expect(pair.first.wrappedValue == pair.second.wrappedValue)
      #expect([one, other].contains(pair.first.wrappedValue.discount))
    }
    #expect(pair.first.saveError == nil && pair.second.saveError == nil)
  }

  @Test("Top-level arrays, strings and optionals are replaced as a whole", arguments: BackendKind.allCases)
  func leaves(kind: BackendKind) async throws {
    let lists = try await Pair(kind, [0])
    try await lists.store([1, 2])
    try await lists.changeTogether {
      $0.append(3)
    } _: {
      $0.append(4)
    }
    #expect(lists.first.wrappedValue == lists.second.wrappedValue)
    #expect([[1, 2, 3], [1, 2, 4]].contains(lists.first.wrappedValue))

    let texts = try await Pair(kind, "")
    try await texts.changeTogether {
      $0 = "one"
    } _: {
      $0 = "\"two\""
    }
    #expect(texts.first.wrappedValue == texts.second.wrappedValue)
    #expect(["one", "\"two\""].contains(texts.first.wrappedValue))

    let optionals = try await Pair<ShopConfig?>(kind, nil)
    try await optionals.store(ShopConfig())
    try await optionals.changeTogether {
      $0 = nil
    } _: {
      $0?.maxItems = 3
    }
    #expect(optionals.first.wrappedValue == optionals.second.wrappedValue)
    #expect([nil, ShopConfig(maxItems: 3)].contains(optionals.first.wrappedValue))
  }

  @Test(
    "A merge that does not decode is discarded, and one of the two changes is refused",
    arguments: BackendKind.allCases
  )
  func invalidMerge(kind: BackendKind) async throws {
    let pair = try await Pair(kind, Span(0, 0))
    try await pair.store(Span(0, 10))
    try await pair.changeTogether {
      $0.lower = 8
    } _: {
      $0.upper = 5
    }
    #expect(pair.first.wrappedValue == pair.second.wrappedValue)
    #expect([Span(8, 10), Span(0, 5)].contains(pair.first.wrappedValue))
    #expect((pair.first.saveError == nil) != (pair.second.saveError == nil))
    #expect(pair.first.loadError == nil && pair.second.loadError == nil)
  }

  @Test(
    "Two services that rapidly change different fields both show the last value of each",
    arguments: BackendKind.allCases
  )
  func storm(kind: BackendKind) async throws {
    let pair = try await Pair(kind, ShopConfig())
    let writing = [pair.first, pair.second].enumerated().map { index, share in
      Task {
        for round in 1...300 {
          share.withLock { if index == 0 { $0.maxItems = round } else { $0.delivery.days = round } }
          if round % 10 == 0 { await Task.yield() }
        }
      }
    }
    for task in writing { await task.value }
    try await pair.settle()
    #expect(pair.first.wrappedValue == ShopConfig(maxItems: 300, delivery: .init(days: 300)))
    #expect(pair.second.wrappedValue == pair.first.wrappedValue)
  }
}
