import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateStore
import SharedStateStoreTesting
import SharedStateTesting
import Testing

@Reducer
struct Order {
  @ObservableState
  struct State: Equatable {
    var items = 0
    var isPaid = false
  }

  enum Action: Equatable {
    case itemAdded
    case paid
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .itemAdded:
        state.items += 1
        return .none
      case .paid:
        state.isPaid = state.items > 0
        return .none
      }
    }
  }
}

@Reducer
struct Shop {
  struct State: Equatable {
    var orders: IdentifiedArrayOf<Entry> = []

    struct Entry: Equatable, Identifiable {
      let id: Int
      var order = Order.State()
    }
  }

  enum Action: Equatable {
    case opened(id: Int)
    case orders(IdentifiedActionOf<OrderEntry>)
  }

  @Reducer
  struct OrderEntry {
    typealias State = Shop.State.Entry
    typealias Action = Order.Action

    var body: some ReducerOf<Self> {
      Scope(state: \.order, action: \.self) { Order() }
    }
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .opened(let id):
        state.orders[id: id] = State.Entry(id: id)
        return .none
      case .orders:
        return .none
      }
    }
    .forEach(\.orders, action: \.orders) { OrderEntry() }
  }
}

@Reducer
struct Search {
  struct State: Equatable {
    var query = ""
    var results: [String] = []
    var failure: String?
  }

  enum Action: Equatable {
    case queryChanged(String)
    case found([String])
    case failed(String)
    case closed
  }

  enum CancelID { case search }

  @Dependency(\.continuousClock) var clock
  @Dependency(\.searchEngine) var searchEngine

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .queryChanged(let query):
        state.query = query
        return .run { send in
          try await clock.sleep(for: .milliseconds(300))
          await send(.found(try await searchEngine.find(query)))
        } catch: { error, send in
          await send(.failed("\(error)"))
        }
        .cancellable(id: CancelID.search, cancelInFlight: true)
      case .found(let results):
        state.results = results
        return .none
      case .failed(let reason):
        state.failure = reason
        return .none
      case .closed:
        return .cancel(id: CancelID.search)
      }
    }
  }
}

struct SearchEngine: TestDependencyKey {
  var find: @Sendable (String) async throws -> [String]

  static let testValue = SearchEngine { query in [query] }
}

extension DependencyValues {
  var searchEngine: SearchEngine {
    get { self[SearchEngine.self] }
    set { self[SearchEngine.self] = newValue }
  }
}

@Reducer
struct StockFeature {
  struct State: Equatable {
    @Shared(.redis("stock")) var stock = 10
    var sold = 0
  }

  enum Action {
    case sellButtonTapped
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .sellButtonTapped:
        guard state.stock > 0 else { return .none }
        state.sold += 1
        state.$stock.withLock { $0 -= 1 }
        return .run { [stock = state.$stock] _ in try await stock.save() }
      }
    }
  }
}

@Suite("The articles on the store", .timeLimit(.minutes(5)))
struct StoreArticlesTests {
  @Test("A store reduces the actions that it is sent")
  func reducedActions() {
    let store = Store(initialState: Order.State()) { Order() }
    store.send(.itemAdded)
    store.send(.paid)
    print(store.items, store.isPaid)  // 1 true
    #expect(store.state == Order.State(items: 1, isPaid: true))
  }

  @Test("An action sent to an element's store changes the parent's state")
  func elementStore() {
    let shop = Store(initialState: Shop.State()) { Shop() }
    shop.send(.opened(id: 7))
    for order in shop.scope(state: \.orders, action: \.orders) {
      order.send(.itemAdded)
    }
    #expect(shop.orders[id: 7]?.order.items == 1)
  }

  @Test("A store's updates deliver its states")
  func stateUpdates() async throws {
    let store = Store(initialState: Order.State()) { Order() }
    let task = Task {
      for await state in store.updates where state.isPaid {
        return state.items
      }
      return 0
    }
    store.send(.itemAdded)
    store.send(.paid)
    #expect(try await inTime("the order to be paid") { await task.value } == 1)
  }

  @Test("A new query cancels the search for the previous one")
  func supersededQuery() async {
    let clock = TestClock()
    let store = TestStore(initialState: Search.State()) {
      Search()
    } withDependencies: {
      $0.continuousClock = clock
      $0.searchEngine.find = { ["\($0) on Linux"] }
    }
    await store.send(.queryChanged("S")) { $0.query = "S" }
    await store.send(.queryChanged("Swift")) { $0.query = "Swift" }
    await clock.advance(by: .milliseconds(300))
    await store.receive(\.found, ["Swift on Linux"]) { $0.results = ["Swift on Linux"] }
  }

  @Test("An error thrown by an effect is sent as an action")
  func effectFailure() async {
    struct Offline: Error {}
    let store = TestStore(initialState: Search.State()) {
      Search()
    } withDependencies: {
      $0.continuousClock = ImmediateClock()
      $0.searchEngine.find = { _ in throw Offline() }
    }
    await store.send(.queryChanged("Swift")) { $0.query = "Swift" }
    await store.receive(\.failed) { $0.failure = "Offline()" }
  }

  @Test("Closing the search cancels its effect")
  func closedSearch() async {
    let store = TestStore(initialState: Search.State()) {
      Search()
    } withDependencies: {
      $0.continuousClock = TestClock()
    }
    await store.send(.queryChanged("Swift")) { $0.query = "Swift" }
    await store.send(.closed)
    await store.finish()
  }

  @Test("A non-exhaustive test asserts only some of the changes")
  func nonExhaustiveAssertion() async {
    let store = TestStore(initialState: Search.State()) {
      Search()
    } withDependencies: {
      $0.continuousClock = ImmediateClock()
    }
    store.exhaustivity = .off
    await store.send(.queryChanged("Swift"))
    await store.receive(\.found) { $0.results = ["Swift"] }
  }

  @Test("A sale in one service reduces the stock in the other")
  func saleAcrossServices() async throws {
    let server = InProcessRedis()
    let shops = ["shop", "till"].map { _ in
      TestStore(initialState: StockFeature.State()) {
        StockFeature()
      } withDependencies: {
        $0.defaultRedisStore = .inProcess(server)
      }
    }
    let (shop, till) = (shops[0], shops[1])
    try await till.state.$stock.load()

    await shop.send(.sellButtonTapped) {
      $0.sold = 1
      $0.$stock.withLock { $0 = 9 }
    }
    await till.receiveChange { $0.$stock.withLock { $0 = 9 } }
    await shop.finish()
  }
}
