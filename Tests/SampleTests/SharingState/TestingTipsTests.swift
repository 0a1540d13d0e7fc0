import SharedState
import SharedStateStore
import SharedStateStoreTesting
import Testing

@Suite("Sharing state: testing tips", .timeLimit(.minutes(5)))
struct TestingTipsTests {
  @Reducer
  struct Feature1 {
    struct State: Equatable {
      @Shared(.appStorage("count")) fileprivate var count = 0
    }
    // ...
    enum Action {
      case buttonTapped
    }
    var body: some ReducerOf<Self> {
      Reduce { state, _ in
        state.$count.withLock { $0 += 1 }
        return .none
      }
    }
  }

  @Reducer
  struct Feature2 {
    struct State: Equatable {
      @Shared(.appStorage("count")) var count = 0
    }
    // ...
  }

  @Reducer
  struct ParentFeature {
    struct State: Equatable {
      var feature1 = Feature1.State()
      var feature2 = Feature2.State()
    }
    enum Action {
      case feature1(Feature1.Action)
    }
    var body: some ReducerOf<Self> {
      Scope(state: \.feature1, action: \.feature1) { Feature1() }
    }
  }

  /// The second feature after a refactoring.
  enum Refactored {
    @Reducer
    struct Feature2 {
      struct State: Equatable {
        var count = 0
      }
      // ...
      enum Action {
        case buttonTapped
      }
      var body: some ReducerOf<Self> {
        Reduce { state, _ in
          state.count += 1
          return .none
        }
      }
    }

    @Reducer
    struct ParentFeature {
      struct State: Equatable {
        var feature1 = Feature1.State()
        var feature2 = Feature2.State()
      }
      enum Action {
        case feature1(Feature1.Action)
        case feature2(Feature2.Action)
      }
      var body: some ReducerOf<Self> {
        Scope(state: \.feature1, action: \.feature1) { Feature1() }
        Scope(state: \.feature2, action: \.feature2) { Feature2() }
      }
    }
  }

  @Test("A count shared by two features stays in sync")
  func countInSync() async {
    let store = TestStore(initialState: ParentFeature.State()) {
      ParentFeature()
    }

    await store.send(.feature1(.buttonTapped)) {
      $0.feature1.$count.withLock { $0 = 1 }
    }
    #expect(store.state.feature2.count == 1)
  }

  @Test("The same change is asserted in both features")
  func bothCountsAsserted() async {
    let store = TestStore(initialState: ParentFeature.State()) {
      ParentFeature()
    }

    await store.send(.feature1(.buttonTapped)) {
      $0.feature1.$count.withLock { $0 = 1 }
      $0.feature2.$count.withLock { $0 = 1 }
    }
  }

  @Test("A feature that has lost its share fails only a test that asserts both counts")
  func lostShareBothCounts() async {
    let store = TestStore(initialState: Refactored.ParentFeature.State()) {
      Refactored.ParentFeature()
    }

    await store.send(.feature1(.buttonTapped)) {
      $0.feature1.$count.withLock { $0 = 1 }
    }
    await withKnownIssue {
      await store.send(.feature1(.buttonTapped)) {
        $0.feature1.$count.withLock { $0 = 2 }
        $0.feature2.count = 2
      }
    } matching: { issue in
      issue.text?.hasPrefix("A state change does not match expectation: …") == true
    }
  }

  @Test("A test asserts a feature's change on a share of its own")
  func ownShareAssertion() async {
    @Shared(.appStorage("count")) var count = 0
    let store = TestStore(initialState: ParentFeature.State()) {
      ParentFeature()
    }

    await store.send(.feature1(.buttonTapped)) {
      // Mutate $0 to expected value.
      $count.withLock { $0 = 1 }
    }
  }

  @Test("An assertion on the test's own share fails when the feature has lost its share")
  func lostShareOwnAssertion() async {
    await withKnownIssue {
      @Shared(.appStorage("count")) var count = 0
      let store = TestStore(initialState: Refactored.ParentFeature.State()) {
        Refactored.ParentFeature()
      }

      await store.send(.feature2(.buttonTapped)) {
        // Mutate $0 to expected value.
        $count.withLock { $0 = 1 }
      }
    }
  }
}
