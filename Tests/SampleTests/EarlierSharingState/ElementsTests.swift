import SharedState
import SharedStateStore
import Testing

@Suite("Sharing state, earlier: elements", .timeLimit(.minutes(5)))
struct ElementsTests {
  @Reducer
  struct TodosFeature {
    struct State {
      @Shared(.fileStorage(.todos)) var todos: IdentifiedArrayOf<Todo> = []
      // ...
    }
    enum Action {
      case appended(Todo)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .appended(let todo):
          state.$todos.withLock { _ = $0.append(todo) }
          return .none
        }
      }
    }
  }

  @Reducer
  struct TodoFeature {
    struct State {
      @Shared var todo: Todo
    }
    enum Action {
      case titleEntered(String)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .titleEntered(let title):
          state.$todo.withLock { $0.title = title }
          return .none
        }
      }
    }
  }

  @Reducer
  enum Path {
    case todo(TodoFeature)
  }

  /// The input of a view for each element.
  struct Link {
    let state: Path.State
    let label: String
  }

  @Test("Each row of a list has a share of its own element")
  func elementPerRow() {
    let store = Store(initialState: TodosFeature.State()) { TodosFeature() }
    store.send(.appended(Todo(id: 1, title: "Milk")))
    store.send(.appended(Todo(id: 2, title: "Eggs")))
    let links = store.$todos.elements.map { $todo in
      Link(
        // $todo: Shared<Todo>
        //  todo: Todo
        state: Path.State.todo(TodoFeature.State(todo: $todo)),
        label: todo.title
      )
    }
    #expect(links.map(\.label) == ["Milk", "Eggs"])
    let row = Store(initialState: links[1].state) { Path.body }
    row.send(.todo(.titleEntered("Six eggs")))
    #expect(store.todos.map(\.title) == ["Milk", "Six eggs"])
  }
}
