import SharedState
import SharedStateStore
import SharedStateStoreTesting
import Testing

@Suite("Sharing state: explicit shares", .timeLimit(.minutes(5)))
struct ExplicitSharedStateTests {
  @Reducer
  struct ParentFeature {
    @ObservableState
    struct State: Equatable {
      @Shared var count: Int
      // Other properties
      var child: ChildFeature.State?
    }
    enum Action {
      case child(ChildFeature.Action)
      case decrementButtonTapped
      case presentButtonTapped
    }
    // ...
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .presentButtonTapped:
          state.child = ChildFeature.State(count: state.$count)
          // ...
          return .none
        case .decrementButtonTapped:
          state.$count.withLock { $0 -= 1 }
          return .none
        case .child:
          return .none
        }
      }
      .ifLet(\.child, action: \.child) { ChildFeature() }
    }
  }

  @Reducer
  struct ChildFeature {
    @ObservableState
    struct State: Equatable {
      @Shared var count: Int
      // Other properties
    }
    enum Action {
      case incrementButtonTapped
    }
    // ...
    var body: some ReducerOf<Self> {
      Reduce { state, _ in
        state.$count.withLock { $0 += 1 }
        return .none
      }
    }
  }

  @Test("A parent and its child change one count")
  func parentAndChild() {
    let store = Store(initialState: ParentFeature.State(count: Shared(value: 0))) { ParentFeature() }
    store.send(.presentButtonTapped)
    store.send(.child(.incrementButtonTapped))
    #expect(store.count == 1)
    store.send(.decrementButtonTapped)
    #expect(store.child?.count == 0)
  }

  @Test("A child's change is asserted in the parent and appears in both")
  func assertedInParent() async {
    let store = TestStore(initialState: ParentFeature.State(count: Shared(value: 0))) { ParentFeature() }
    await store.send(.presentButtonTapped) { $0.child = ChildFeature.State(count: $0.$count) }
    await store.send(.child(.incrementButtonTapped)) { $0.$count.withLock { $0 = 1 } }
    #expect(store.state.child?.count == 1)
  }
}
