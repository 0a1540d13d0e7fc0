import Foundation
import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The article on modelling data", .timeLimit(.minutes(5)))
struct ModellingArticleTests {
  // MARK: What merges

  struct Shop: Codable, Hashable, Sendable {
    struct Item: Codable, Hashable, Identifiable, Sendable {
      var id = UUID()
      var title: String
      var price = 1
    }

    enum Payment: Codable, Hashable, Sendable {
      case card(fee: Int, limit: Int)
      case invoice(days: Int)
    }

    struct Delivery: Codable, Hashable, Sendable {
      var days = 3
      var carrier = "rail"
    }

    var items: IdentifiedArrayOf<Item> = []
    var stock: [UUID: Int] = [:]
    var tags: Set<String> = []
    var visits: MergingCounter = 0
    var payment = Payment.invoice(days: 30)
    var delivery: Delivery?
    var openingHours = [8, 18]
  }

  /// Lets two services change a value at the same time, and returns what both show afterwards.
  private func merge<Value: Codable & Hashable & Sendable>(
    _ value: Value,
    _ options: RedisSharedKey<Value>.Options = .init(),
    _ change: (inout Value) -> Void,
    _ other: (inout Value) -> Void
  ) async throws -> Value {
    let server = InProcessRedis()
    let first = Shared(wrappedValue: value, .redis("value", store: .inProcess(server), options: options))
    let second = Shared(wrappedValue: value, .redis("value", store: .inProcess(server), options: options))
    try await first.save()
    try await second.load()
    server.pause()
    first.withLock(change)
    second.withLock(other)
    server.resume()
    try await first.save()
    try await second.save()
    try await first.load()
    try await second.load()
    #expect(first.wrappedValue == second.wrappedValue)
    return first.wrappedValue
  }

  @Test("Each kind of field is merged in its own way")
  func fieldKinds() async throws {
    let (tea, coffee, milk) = (Shop.Item(title: "Tea"), Shop.Item(title: "Coffee"), Shop.Item(title: "Milk"))
    var shop = Shop()
    shop.items = [tea, coffee]
    shop.stock = [tea.id: 5, coffee.id: 5]
    shop.tags = ["open", "new"]
    shop.payment = .card(fee: 1, limit: 100)
    let merged = try await merge(shop) {
      $0.items[id: tea.id]?.price = 2
      $0.items.append(milk)
      $0.stock[tea.id] = 4
      $0.tags.insert("sale")
      $0.visits.value += 1
      $0.payment = .card(fee: 2, limit: 100)
      $0.delivery = Shop.Delivery(days: 1)
      $0.openingHours = [9, 17]
    } _: {
      $0.items[id: tea.id]?.title = "Green tea"
      $0.items.remove(id: coffee.id)
      $0.stock[coffee.id] = nil
      $0.tags.remove("new")
      $0.visits.value += 2
      $0.payment = .card(fee: 1, limit: 200)
      $0.openingHours = [7, 19]
    }
    let greenTea = Shop.Item(id: tea.id, title: "Green tea", price: 2)
    #expect(merged.items == [greenTea, milk])
    #expect(merged.stock == [tea.id: 4])
    #expect(merged.tags == ["open", "sale"])
    #expect(merged.visits == 3)
    #expect(merged.payment == .card(fee: 2, limit: 200))
    #expect(merged.delivery == Shop.Delivery(days: 1))
    #expect([[9, 17], [7, 19]].contains(merged.openingHours))
  }

  @Test("Different cases, flat enums and arrays without stored identities are replaced whole")
  func whatIsReplacedWhole() async throws {
    let payments = try await merge(Shop.Payment.invoice(days: 30)) {
      $0 = .card(fee: 1, limit: 100)
    } _: {
      $0 = .invoice(days: 10)
    }
    #expect([.card(fee: 1, limit: 100), .invoice(days: 10)].contains(payments))

    let shapes = try await merge(Shape.circle(radius: 1, colour: "red")) {
      $0 = .circle(radius: 2, colour: "red")
    } _: {
      $0 = .circle(radius: 1, colour: "blue")
    }
    #expect([.circle(radius: 2, colour: "red"), .circle(radius: 1, colour: "blue")].contains(shapes))

    let names = try await merge([Unidentified(name: "a"), Unidentified(name: "b")]) {
      $0[0].name = "A"
    } _: {
      $0[1].name = "B"
    }
    #expect([["A", "b"], ["a", "B"]].contains(names.map(\.name)))
  }

  /// Encodes its case as a member beside the values.
  enum Shape: Codable, Hashable, Sendable {
    case circle(radius: Int, colour: String)

    private enum CodingKeys: CodingKey { case type, radius, colour }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      self = .circle(
        radius: try container.decode(Int.self, forKey: .radius),
        colour: try container.decode(String.self, forKey: .colour)
      )
    }

    func encode(to encoder: any Encoder) throws {
      guard case .circle(let radius, let colour) = self else { return }
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode("circle", forKey: .type)
      try container.encode(radius, forKey: .radius)
      try container.encode(colour, forKey: .colour)
    }
  }

  /// Has an identity that is not in the document, as with `let id = UUID()`.
  struct Unidentified: Codable, Hashable, Identifiable, Sendable {
    let id = UUID()
    var name: String

    private enum CodingKeys: CodingKey { case name }

    static func == (one: Self, other: Self) -> Bool { one.name == other.name }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }
  }

  @Test("An optional that both services set has the value of one of them")
  func optionalSetByBoth() async throws {
    let merged = try await merge(Shop()) {
      $0.delivery = Shop.Delivery(days: 1)
    } _: {
      $0.delivery = Shop.Delivery(carrier: "road")
    }
    // Both have set both fields, so the later commit decides both.
    #expect(
      [Shop.Delivery(days: 1, carrier: "rail"), Shop.Delivery(days: 3, carrier: "road")].contains(merged.delivery)
    )
  }

  // MARK: A type that says how it merges

  struct Peak: ThreeWayMergeable, Hashable, Sendable {
    var ordersPerMinute = 0

    static func merged(base: Peak?, mine: Peak, theirs: Peak) -> Peak {
      mine.ordersPerMinute > theirs.ordersPerMinute ? mine : theirs
    }
  }

  @Test("A type decides how its values are merged")
  func customMerge() async throws {
    let merged = try await merge(Peak()) {
      $0.ordersPerMinute = 7
    } _: {
      $0.ordersPerMinute = 5
    }
    #expect(merged == Peak(ordersPerMinute: 7))
  }

  @Test("Counters under separate keys add up, and a reset by two services counts twice")
  func separateCounters() async throws {
    let today = "2026-11-24"
    let server = InProcessRedis()
    let other = Shared(wrappedValue: [String: MergingCounter](), .redis("visits", store: .inProcess(server)))
    try await withDependencies {
      $0.defaultRedisStore = .inProcess(server)
    } operation: {
      server.pause()
      @Shared(.redis("visits")) var visits: [String: MergingCounter] = [:]
      $visits.withLock { $0[today, default: 0].value += 1 }
      other.withLock { $0[today, default: 0].value += 2 }
      server.resume()
      try await $visits.save()
      try await other.save()
      try await $visits.load()
      #expect(visits == [today: 3])
    }
    // Set back by both services, it is set back twice.
    #expect(
      try await merge(MergingCounter(10)) {
        $0 = 0
      } _: {
        $0 = 0
      } == -10
    )
  }

  // MARK: Options

  enum Feature: String, SkippedWhenUnknown { case search, giftCards }

  @Test("A flag is turned off even beside an unknown flag")
  func unknownFlag() async throws {
    let server = InProcessRedis()
    let features = Shared(wrappedValue: Set<Feature>(), .redis("features", store: .inProcess(server)))
    server.set("features", #"["giftCards","search"]"#)
    try await features.load()
    #expect(features.wrappedValue == [.giftCards, .search])
    server.set("features", #"["later","search"]"#)
    try await features.load()
    #expect(features.wrappedValue == [.search])
  }

  @Test("A strict key refuses another value with the same name and leaves it unchanged")
  func strictKey() async throws {
    struct CheckoutConfig: Codable, Hashable, Sendable {
      var maximumItems = 10
    }
    let server = InProcessRedis()
    server.set("checkout:config", #"{"x":5}"#)
    await withDependencies {
      $0.defaultRedisStore = .inProcess(server)
    } operation: {
      @Shared(.redis("checkout:config", options: .strict)) var config = CheckoutConfig()
      let error = await #expect(throws: RedisSharedStateError.self) { try await $config.load() }
      #expect(error?.code == .undecodable)
    }
    #expect(server.get("checkout:config") == #"{"x":5}"#)
  }

  @Test("The removal policy decides between a change and a removal")
  func removalPolicy() async throws {
    typealias Item = Shop.Item
    @Shared(.redis("cart", options: .init(removal: .changeWins))) var cart: IdentifiedArrayOf<Item> = []
    $cart.withLock { $0.append(Item(title: "Tea")) }
    try await $cart.save()

    let tea = Item(title: "Tea")
    let items: IdentifiedArrayOf<Item> = [tea]
    for (removal, expected) in [(RemovalPolicy.changeWins, [2]), (.removalWins, [])] {
      let merged = try await merge(items, .init(removal: removal)) {
        $0.remove(id: tea.id)
      } _: {
        $0[id: tea.id]?.price = 2
      }
      #expect(merged.map(\.price) == expected)
    }
  }

  enum Region: String, Codable, Sendable { case north, south }

  @Test("A dictionary is stored as an array for other Swift programs if its key says so")
  func dictionaryAsArray() async throws {
    let server = InProcessRedis()
    try await withDependencies {
      $0.defaultRedisStore = .inProcess(server)
    } operation: {
      @Shared(.redis("limits", options: .init(usesArraysForDictionaries: true))) var limits = [Region.north: 5]
      try await $limits.save()
      let stored = try #require(server.getData("limits"))
      #expect(try JSONDecoder().decode([Region: Int].self, from: stored) == limits)
      @Shared(.redis("others")) var others = [Region.north: 5]
      try await $others.save()
    }
    #expect(server.get("limits") == #"["north",5]"#)
    #expect(server.get("others") == #"{"north":5}"#)
  }

  // MARK: A limiter

  struct Window: Codable, Sendable {
    var end = Date.distantPast
    var requests = 0
  }

  func isAllowed(_ client: String) async throws -> Bool {
    @Shared(.redis("limiter:\(client)", options: .init(timeToLive: .seconds(60)))) var window = Window()
    let now = Date.now
    return try await $window.updateAtomically { window in
      if window.end <= now { window = Window(end: now + 60) }
      guard window.requests < 100 else { return false }
      window.requests += 1
      return true
    }
  }

  @Test("A client is limited to 100 requests, and a refusal changes nothing")
  func aClientIsLimited() async throws {
    let server = InProcessRedis()
    try await withDependencies {
      $0.defaultRedisStore = .inProcess(server)
    } operation: {
      let allowed = try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<120 { group.addTask { try await isAllowed("A-17") } }
        return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(allowed == 100)
      // A refusal changes nothing.
      server.expire("limiter:A-17", after: .seconds(30))
      #expect(try await !isAllowed("A-17"))
      #expect(try #require(server.timeToLive(of: "limiter:A-17")) <= .seconds(30))
    }
    #expect(server.keys == ["limiter:A-17", "meta:{limiter:A-17}", "ops:{limiter:A-17}", "secret:{}"])
    let note = try #require(server.timeToLive(of: "meta:{limiter:A-17}"))
    #expect(note > .seconds(3_600) && note <= .seconds(3_660))
    let operations = try #require(server.timeToLive(of: "ops:{limiter:A-17}"))
    #expect(operations > .seconds(3_000) && operations <= .seconds(3_600))
  }

  // MARK: What it costs

  @Test("A small value takes less than 1,000 bytes in Redis")
  func smallValueSize() async throws {
    let server = try PrivateRedisServer(.unixSocket)
    let store = RedisStore(try RedisConfiguration(url: server.url))
    @Shared(.redis("checkout:config", store: store)) var config = ["maximumItems": 10]
    $config.withLock { $0["maximumItems"] = 20 }
    try await $config.save()
    var bytes = 0
    for key in ["checkout:config", "meta:{checkout:config}", "ops:{checkout:config}"] {
      guard case .integer(let count) = try server.command("MEMORY", "USAGE", key) else {
        Issue.record("There is no key '\(key)'.")
        return
      }
      bytes += Int(count)
    }
    #expect(bytes < 1_000)
    await store.shutdown(within: .seconds(5))
  }

  // MARK: What documents may contain

  struct Note: Codable, Hashable, Sendable {
    var text = ""
    var number: Int8 = 0
  }

  private func note(_ document: String) async throws -> (note: Shared<Note>, server: InProcessRedis) {
    let server = InProcessRedis()
    server.set("note", document)
    let note = Shared(wrappedValue: Note(), .redis("note", store: .inProcess(server)))
    try await note.load()
    note.withLock { $0.number += 1 }
    try await note.save()
    return (note, server)
  }

  @Test(
    "A save leaves members that the type does not read unchanged",
    arguments: [
      #"{"number":2,"text":"a","other":"\#("\\")ud800"}"#,
      #"{"number":2,"text":"a","other":1e400,"more":0.10000000000000000555}"#,
      #"{"number":2,"text":"a","number":3,"other":1,"text":"b"}"#,
      #"{"number":2,"text":"\u0000a","other":"\u0000"}"#,
      "\u{FEFF} " + #"{ "number" : 2, "text" : "a", "other" : 1 }"#,
    ]
  )
  func oddDocuments(document: String) async throws {
    let (_, server) = try await note(document)
    let range = try #require(document.range(of: "2"))
    #expect(server.get("note") == document.replacingCharacters(in: range, with: "3"))
  }

  @Test(
    "A document with only known members may be reformatted, but decodes to the saved value",
    arguments: [#"{"number":2,"text":"a","number":3,"text":"b"}"#, "\u{FEFF} " + #"{ "number" : 2, "text" : "a" }"#]
  )
  func spellings(document: String) async throws {
    let (note, server) = try await note(document)
    #expect(note.wrappedValue == Note(text: "a", number: 3))
    let stored = try JSONDecoder().decode(Note.self, from: try #require(server.getData("note")))
    #expect(stored == note.wrappedValue)
  }

  @Test(
    "An unreadable document is reported as undecodable",
    arguments: [
      #"{"number":2,"text":"\#("\\")ud800"}"#, #"{"number":128,"text":"a"}"#, #"{"number":1.5,"text":"a"}"#,
      "{\"number\":2,\"text\":\"\0\"}", #"{"number":2,"text":"a",}"#, #"{"number":NaN,"text":"a"}"#,
      #"{"number":2,"text":"a","other":\#(String(repeating: "[", count: 512))\#(String(repeating: "]", count: 512))}"#,
    ]
  )
  func badDocuments(document: String) async throws {
    let error = await #expect(throws: RedisSharedStateError.self) { try await note(document) }
    guard error?.code == .undecodable else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}
