import SharedState
import Testing

@Suite(.timeLimit(.minutes(2))) struct ElementsTests {
  private struct Row {
    @Shared var todo: Todo
  }

  @Test func everyRowOfAListGetsItsElement() {
    @Shared(.fileStorage(.todos)) var todos: IdentifiedArrayOf<Todo> = [
      Todo(id: 1, title: "Milk"), Todo(id: 2, title: "Eggs"),
    ]
    let rows = $todos.elements.map { $todo in Row(todo: $todo) }
    rows[1].$todo.withLock { $0.title = "Six eggs" }
    #expect(todos.map(\.title) == ["Milk", "Six eggs"])
    #expect(rows.map(\.todo.id) == [1, 2])
  }
}
