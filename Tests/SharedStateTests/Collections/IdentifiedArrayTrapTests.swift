import SharedState
import Testing

/// What a programming error does: it traps.
@Suite struct IdentifiedArrayTrapTests {
  @Test func changingAnIdentityThroughTheIdentityTraps() async {
    await #expect(processExitsWith: .failure) {
      var todos: IdentifiedArrayOf<Todo> = [Todo(1)]
      todos[id: 1] = Todo(2)
    }
    await #expect(processExitsWith: .failure) {
      var todos = IdentifiedArray(uniqueElements: [Todo(1, "one")], id: \.title)
      todos[id: "one"]?.title = "two"
    }
  }

  @Test func changingAnIdentityThroughTheIndexTraps() async {
    await #expect(processExitsWith: .failure) {
      var todos: IdentifiedArrayOf<Todo> = [Todo(1)]
      todos[0] = Todo(2)
    }
  }

  @Test func aDuplicateAmongUniqueElementsTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = IdentifiedArray(uniqueElements: [Todo(1), Todo(1)])
    }
    await #expect(processExitsWith: .failure) {
      let todos: IdentifiedArrayOf<Todo> = [Todo(1), Todo(1)]
      _ = todos
    }
  }
}
