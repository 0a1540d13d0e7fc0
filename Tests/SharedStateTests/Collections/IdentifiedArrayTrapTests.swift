import SharedState
import SharedStateTesting
import Testing

/// Programming errors trap.
@Suite("Traps of IdentifiedArray", .timeLimit(.minutes(5)))
struct IdentifiedArrayTrapTests {
  @Test("Changing an element's identity through the subscript by identity traps")
  func changedIdentity() async {
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      var todos: IdentifiedArrayOf<Todo> = [Todo(1)]
      todos[id: 1] = Todo(2)
    }
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      var todos = IdentifiedArray(uniqueElements: [Todo(1, "one")], id: \.title)
      todos[id: "one"]?.title = "two"
    }
  }

  @Test("Assigning an element whose identity is at another index traps")
  func identityAtOtherIndex() async {
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      var todos: IdentifiedArrayOf<Todo> = [Todo(1), Todo(2)]
      todos[0] = Todo(2)
    }
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      var todos: IdentifiedArrayOf<Todo> = [Todo(1), Todo(2)]
      _ = todos.withContiguousMutableStorageIfAvailable { $0[0] = Todo(2) }
    }
  }

  @Test("A duplicate identity among unique elements or in a literal traps")
  func duplicateIdentity() async {
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      _ = IdentifiedArray(uniqueElements: [Todo(1), Todo(1)])
    }
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      let todos: IdentifiedArrayOf<Todo> = [Todo(1), Todo(1)]
      _ = todos
    }
  }
}
