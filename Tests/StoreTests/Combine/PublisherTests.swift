import SharedState
import SharedStateCombine
import SharedStateStore
import SharedStateStoreCombine
import SharedStateStoreTesting
import SharedStateTesting
import Testing

import OpenCombine

@Suite("Publishers and the store", .timeLimit(.minutes(5)))
struct PublisherTests {
  /// The form that the documents use.
  struct Observing: Reducer {
    struct State: Equatable {
      @Shared(.inMemory("observed")) var count = 0
      var seen: [Int] = []
    }

    enum Action: Equatable {
      case onAppear
      case countUpdated(Int)
    }

    enum CancelID { case observation }

    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .onAppear:
          return .publisher {
            state.$count.publisher
              .map(Action.countUpdated)
          }
          .cancellable(id: CancelID.observation)

        case .countUpdated(let count):
          // Do something with count
          state.seen.append(count)
          return count == 2 ? .cancel(id: CancelID.observation) : .none
        }
      }
    }
  }

  @Test("A publisher sends actions until it is cancelled")
  func publisher() async {
    let store = TestStore(initialState: Observing.State()) { Observing() }
    await store.send(.onAppear)
    await store.receive(.countUpdated(0)) { $0.seen = [0] }
    @Shared(.inMemory("observed")) var count = 0
    $count.withLock { $0 = 1 }
    await store.receive(.countUpdated(1)) {
      $0.$count.withLock { $0 = 1 }
      $0.seen = [0, 1]
    }
    $count.withLock { $0 = 2 }
    await store.receive(.countUpdated(2)) {
      $0.$count.withLock { $0 = 2 }
      $0.seen = [0, 1, 2]
    }
    await store.finish()
  }

  @Test("An effect ends with its publisher")
  func completion() async throws {
    let store = Store<[Int], Int>(initialState: []) {
      Reduce { state, action in
        state.append(action)
        return action == 0 ? .publisher { [1, 2].publisher } : .none
      }
    }
    let task = store.send(0)
    try await inTime("the end") { await task.finish() }
    #expect(store.state == [0, 1, 2])
  }

  @Test("A store publishes its states, and parts of them when they change")
  func storePublisher() {
    let store = Store(initialState: Counter.State()) { Counter() }
    let states = Locked<[Counter.State]>([])
    let counts = Locked<[Int]>([])
    let subscriptions = [
      store.publisher.sink { state in states.change { $0.append(state) } },
      store.publisher.received.map(\.count).sink { count in counts.change { $0.append(count) } },
    ]
    store.send(.increment)
    store.send(.received(1))
    #expect(counts.value == [0, 1])
    #expect(
      states.value == [
        Counter.State(), Counter.State(count: 1), Counter.State(count: 1, received: [1]),
      ]
    )
    for subscription in subscriptions { subscription.cancel() }
    store.send(.increment)
    #expect(counts.value == [0, 1])
  }

  @Test("A subscription keeps the store")
  func keeping() {
    var store: StoreOf<Counter>? = Store(initialState: Counter.State()) { Counter() }
    weak let weakStore = store
    let subscription = store?.publisher.sink { _ in }
    store = nil
    #expect(weakStore != nil)
    subscription?.cancel()
    #expect(weakStore == nil)
  }

  @Test("An action and the actions that its effects send immediately are published as one change")
  func coalescing() {
    let store = Store(initialState: 0) {
      Reduce<Int, Int> { state, action in
        state = action
        return action == 1 ? .merge(.send(2), .send(3)) : .none
      }
    }
    let published = Locked<[Int]>([])
    let subscription = store.publisher.sink { state in published.change { $0.append(state) } }
    store.send(1)
    store.send(4)
    #expect(published.value == [0, 3, 4])
    subscription.cancel()
  }

  @Test("A part of a part of the state is published when it changes")
  func partOfPart() {
    let store = Store(initialState: Counter.State()) { Counter() }
    let published = Locked<[String]>([])
    let subscription = store.publisher.received.description.sink { text in published.change { $0.append(text) } }
    store.send(.increment)
    store.send(.received(1))
    #expect(published.value == ["[]", "[1]"])
    subscription.cancel()
  }

  @Test("A change that a cancelled task makes is published to the store like any other")
  func changedByCancelledTask() async {
    @Shared(.inMemory("observed")) var count = 0
    let store = Store(initialState: Observing.State()) { Observing() }
    store.send(.onAppear)
    let task = Task { [$count] in
      withUnsafeCurrentTask { $0?.cancel() }
      $count.withLock { $0 = 42 }
    }
    await task.value
    #expect(store.seen == [0, 42])
  }
}
