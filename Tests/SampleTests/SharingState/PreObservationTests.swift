import Observation
import SharedState
import SharedStateStore
import Testing

/// A share is observed whether or not the state around it is, so its readers are told about every change.
@Suite("Sharing state: pre-observation apps", .timeLimit(.minutes(5)))
struct PreObservationTests {
  @Reducer
  struct Feature {
    struct State {
      @Shared(value: 0) var sharedCount
    }
    enum Action {
      case incrementButtonTapped
    }
    var body: some ReducerOf<Self> {
      Reduce { state, _ in
        state.$sharedCount.withLock { $0 += 1 }
        return .none
      }
    }
  }

  struct FeatureView {
    let store: StoreOf<Feature>

    var body: String {
      store.sharedCount.description
    }
  }

  @Test("A view is notified of a change to a share in a state without observation")
  func notifiedView() async {
    let view = FeatureView(store: Store(initialState: Feature.State()) { Feature() })
    await confirmation { confirmation in
      withObservationTracking {
        #expect(view.body == "0")
      } onChange: {
        confirmation()
      }
      view.store.send(.incrementButtonTapped)
    }
    #expect(view.body == "1")
  }
}
