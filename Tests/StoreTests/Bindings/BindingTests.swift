import SharedStateStore
import SharedStateStoreTesting
import Testing

@Suite("Bindings of a form", .timeLimit(.minutes(5)))
struct BindingTests {
  @Reducer
  struct Form {
    struct State: Equatable {
      var name = ""
      var age = 0
      var changes = 0
    }

    enum Action: BindableAction, Equatable {
      case binding(BindingAction<State>)
      case reset
      case rename(String)
    }

    var body: some ReducerOf<Self> {
      BindingReducer()
      Reduce { state, action in
        if case .binding(\.name) = action { state.changes += 1 }
        if case .rename(let name) = action { return .send(.set(\.name, name)) }
        return .none
      }
    }
  }

  @Test("A binding sets its property, and is identified by it")
  func binding() async {
    let store = TestStore(initialState: Form.State()) { Form() }
    await store.send(.binding(.set(\.name, "Blob"))) {
      $0.name = "Blob"
      $0.changes = 1
    }
    await store.send(.set(\.age, 42)) { $0.age = 42 }
    await store.send(.reset)
    #expect(Form.Action.set(\.age, 1) == .binding(.set(\.age, 1)))
    #expect(Form.Action.set(\.age, 1) != .binding(.set(\.age, 2)))
  }
  @Test("A binding has a case path for each property")
  func casePaths() async {
    let store = TestStore(initialState: Form.State()) { Form() }
    await store.send(\.binding.age, 42) { $0.age = 42 }
    await store.send(.rename("Blob"))
    await store.receive(\.binding.name, "Blob") {
      $0.name = "Blob"
      $0.changes = 1
    }
    let action = Form.Action.set(\.age, 1)
    #expect(action[case: \.binding.age] == 1)
    #expect(!action.is(\.binding.name))
  }
}
