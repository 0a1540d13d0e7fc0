import OpenCombine
import SharedState
import SharedStateCombine
import SharedStateStore
import SharedStateStoreCombine
import SharedStateStoreTesting
import SharedStateTesting
import Testing

@Suite("Sharing state: observing changes", .timeLimit(.minutes(5)))
struct ObservingChangesTests {
  @Reducer
  struct Feature {
    struct State: Equatable {
      @Shared(value: 0) var count
      var counts: [Int] = []
    }
    enum Action: Equatable {
      case onAppear
      case countUpdated(Int)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .onAppear:
          return .publisher {
            state.$count.publisher
              .map(Action.countUpdated)
          }

        case .countUpdated(let count):
          // Do something with count
          state.counts.append(count)
          return .none
        }
      }
    }
  }

  @Reducer
  struct CircularFeature {
    struct State: Equatable {
      @Shared(value: 0) var count
    }
    enum Action: Equatable {
      case onAppear
      case countUpdated(Int)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .onAppear:
          return .publisher {
            state.$count.publisher
              .map(Action.countUpdated)
          }

        case .countUpdated(let count):
          state.$count.withLock { $0 = count + 1 }
          return .none
        }
      }
    }
  }

  @Test("A publisher sends the present value and each change as actions")
  func publishedActions() async {
    let store = TestStore(initialState: Feature.State()) { Feature() }
    let task = await store.send(.onAppear)
    await store.receive(.countUpdated(0)) { $0.counts = [0] }
    store.state.$count.withLock { $0 = 42 }
    await store.receive(.countUpdated(42)) {
      $0.counts = [0, 42]
      $0.$count.withLock { $0 = 42 }
    }
    await task.cancel()
  }

  /// The circular feature goes on for ever, so this wrapper can end it.
  struct Stoppable: Reducer {
    typealias State = CircularFeature.State
    enum Action {
      case circular(CircularFeature.Action)
      case stop
    }
    func reduce(into state: inout State, action: Action) -> Effect<Action> {
      switch action {
      case .circular(let action):
        CircularFeature().reduce(into: &state, action: action).map(Action.circular).cancellable(id: "circle")
      case .stop:
        .cancel(id: "circle")
      }
    }
  }

  @Test("A feature that changes the share it observes loops until it is stopped")
  func circularObservation() async throws {
    let state = CircularFeature.State()
    let count = state.$count
    let store = Store(initialState: state) { Stoppable() }
    let task = Task.detached { store.send(.circular(.onAppear)) }
    try await eventually("the count to grow by itself") { count.wrappedValue > 1_000 }
    store.send(.stop)
    try await inTime("the end of the endless loop") { await task.value.finish() }
  }
}
