import SharedStateStore
import SharedStateStoreCasePaths
import SharedStateStoreTesting
import Testing

@Suite("Reducers of enum cases", .timeLimit(.minutes(5)))
struct CaseReducerTests {
  enum Screen: Equatable, Sendable {
    case counter(Counter.State)
    case text(String)
  }

  enum Action: Equatable, Sendable {
    case counter(Counter.Action)
    case text(String)
    case show(Screen)
  }

  private func makeStore() -> TestStore<Screen, Action> {
    TestStore(initialState: .counter(Counter.State())) {
      Reduce<Screen, Action> { state, action in
        if case .show(let screen) = action { state = screen }
        return .none
      }
      .ifCaseLet(/Screen.counter, action: /Action.counter) { Counter() }
      Scope(state: /Screen.text, action: /Action.text) {
        Reduce<String, String> { state, action in
          state = action
          return .none
        }
      }
    }
  }

  @Test("A child of a case runs while the state is in that case")
  func cases() async {
    let store = makeStore()
    await store.send(.counter(.increment)) { $0 = .counter(Counter.State(count: 1)) }
    await store.send(.show(.text("a"))) { $0 = .text("a") }
    await store.send(.text("b")) { $0 = .text("b") }
  }

  @Test("An action for a child in another case than the state's is reported at the line of the test")
  func missing() async {
    let store = makeStore()
    let line = #line + 2
    await withKnownIssue {
      await store.send(.text("b"))
    } matching: { issue in
      issue.sourceLocation?.line == line
        && issue.text?.hasPrefix(
          "'CaseReducerTests.Screen' was sent an action of a child while it is in another case:"
        ) == true
    }
  }

  @Test("A child loses its effects when the state leaves its case")
  func leaving() async {
    let store = TestStore(initialState: Screen.counter(Counter.State())) {
      Reduce<Screen, Action> { state, action in
        if case .show(let screen) = action { state = screen }
        return .none
      }
      .ifCaseLet(/Screen.counter, action: /Action.counter) {
        Reduce<Counter.State, Counter.Action> { _, _ in
          .run { send in
            await Gate().wait()
            await send(.increment)
          }
        }
      }
    }
    await store.send(.counter(.increment))
    await store.send(.show(.text("a"))) { $0 = .text("a") }
    await store.finish()
  }
}
