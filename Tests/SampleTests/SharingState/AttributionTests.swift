import SharedState
import SharedStateStore
import SharedStateStoreTesting
import Synchronization
import Testing

@Reducer
private struct Feature {
  struct State: Equatable {
    @Shared(value: false) var bool
  }
  enum Action {
    case tap
    case response
  }
  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .tap:
        return .run { send in
          await send(.response)
        }
      case .response:
        state.$bool.withLock { $0.toggle() }
        return .none
      }
    }
  }
}

/// A change belongs to the action that made it, as the document announces for a future version.
@Suite("Sharing state: attribution of changes", .timeLimit(.minutes(5)))
struct AttributionTests {
  @Test("A change is asserted in the action that makes it")
  func assertedInOwnAction() async {
    let store = TestStore(initialState: Feature.State()) { Feature() }
    await store.send(.tap)
    await store.receive(.response) {
      $0.$bool.withLock { $0 = true }
    }
  }

  @Test("A change asserted in the action before the one that makes it fails in both")
  func assertedTooEarly() async {
    let texts = Mutex<[String]>([])
    await withKnownIssue {
      let store = TestStore(initialState: Feature.State()) { Feature() }
      await store.send(.tap) {
        $0.$bool.withLock { $0 = true }
      }
      await store.receive(.response)
    } matching: { issue in
      texts.withLock { $0.append(issue.text ?? "") }
      return true
    }
    let unexpected = { (heading: String, expected: Bool, actual: Bool) in
      """
      \(heading): …

          − Feature.State(_bool: \(expected))
          + Feature.State(_bool: \(actual))

      (Expected: −, Actual: +)
      """
    }
    #expect(
      texts.withLock { $0 } == [
        unexpected("A state change does not match expectation", true, false),
        unexpected("State was not expected to change, but a change occurred", false, true),
      ]
    )
  }
}
