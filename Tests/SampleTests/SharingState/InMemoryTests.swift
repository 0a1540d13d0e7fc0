import SharedState
import SharedStateStore
import Testing

@Suite("Sharing state: in memory", .timeLimit(.minutes(5)))
struct InMemoryTests {
  @Reducer
  struct ChildFeature {
    @ObservableState
    struct State {
      @Shared(.inMemory("count")) var count = 0
      // Other properties
    }
    // ...
    enum Action {
      case incrementButtonTapped
    }
    var body: some ReducerOf<Self> {
      Reduce { state, _ in
        state.$count.withLock { $0 += 1 }
        return .none
      }
    }
  }

  @Reducer
  struct Feature {
    @ObservableState
    struct State {
      @Shared(.inMemory("count")) var count = 0
      // Other properties
    }
    // ...
  }

  @Test("Features with one in-memory key share one count")
  func sharedInMemoryCount() {
    let child = Store(initialState: ChildFeature.State()) { ChildFeature() }
    let feature = Store(initialState: Feature.State()) { Feature() }
    child.send(.incrementButtonTapped)
    #expect(feature.count == 1)
    feature.$count.withLock { $0 += 1 }
    #expect(child.count == 2)
  }
}
