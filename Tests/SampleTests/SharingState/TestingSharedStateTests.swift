import SharedState
import SharedStateStore
import SharedStateStoreTesting
import SharedStateTesting
import Synchronization
import Testing

@Reducer
private struct Feature {
  struct State: Equatable {
    @Shared var count: Int
  }
  enum Action {
    case incrementButtonTapped
  }
  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .incrementButtonTapped:
        state.$count.withLock { $0 += 1 }
        return .none
      }
    }
  }
}

@Reducer
private struct SimpleFeature {
  struct State: Equatable {
    @Shared var count: Int
  }
  enum Action {
    case incrementButtonTapped
  }
  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .incrementButtonTapped:
        return .run { [sharedCount = state.$count] _ in
          sharedCount.withLock { $0 += 1 }
        }
      }
    }
  }
}

@Suite("Sharing state: testing", .timeLimit(.minutes(5)))
struct TestingSharedStateTests {
  @Test("A test asserts how an action changes the state")
  func assertedStateChange() async {
    let store = TestStore(initialState: Feature.State(count: Shared(0))) {
      Feature()
    }

    await store.send(.incrementButtonTapped) {
      $0.$count.withLock { $0 = 1 }
    }
  }

  @Test("A wrong expectation fails with the difference")
  func wrongExpectation() async {
    await withKnownIssue {
      let store = TestStore(initialState: Feature.State(count: Shared(0))) {
        Feature()
      }

      await store.send(.incrementButtonTapped) {
        $0.$count.withLock { $0 = 2 }
      }
    } matching: { issue in
      issue.text == """
        A state change does not match expectation: …

            − Feature.State(_count: 2)
            + Feature.State(_count: 1)

        (Expected: −, Actual: +)
        """
    }
  }

  @Test("An unasserted change by an effect is a failure that shows the change")
  func unassertedEffect() async {
    let declaration: UInt = #line + 2
    await withKnownIssue {
      let store = TestStore(initialState: SimpleFeature.State(count: Shared(0))) {
        SimpleFeature()
      }
      await store.send(.incrementButtonTapped)
    } matching: { issue in
      issue.text == """
        Tracked changes to 'Shared<Int>@\(#fileID):\(declaration)' but failed to assert: …

          − 0
          + 1

        (Before: −, After: +)

        Call 'Shared<Int>.assert' to exhaustively test these changes, or call 'skipChanges' to ignore them.
        """
    }
  }

  @Test("A change by an effect is asserted on the store")
  func effectAssertedOnStore() async {
    let store = TestStore(initialState: SimpleFeature.State(count: Shared(0))) {
      SimpleFeature()
    }
    await store.send(.incrementButtonTapped)
    store.assert {
      $0.$count.withLock { $0 = 1 }
    }
  }

  @Test("A change by an effect is asserted on the share")
  func effectAssertedOnShare() async {
    let store = TestStore(initialState: SimpleFeature.State(count: Shared(0))) {
      SimpleFeature()
    }
    await store.send(.incrementButtonTapped)
    store.state.$count.assert {
      $0 = 1
    }
  }
}
