import Foundation
import SharedState
import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("The article on swift-sharing", .timeLimit(.minutes(5)))
struct ComingFromSwiftSharingTests {
  @Test("A saved default creates the file, and the default of a later share is not used")
  func savedDefault() async throws {
    @Shared(.fileStorage(.users)) var users: [User] = []
    try await $users.save()
    @Shared(.fileStorage(.users)) var names: [String] = ["default"]
    #expect(names == [])
  }

  @Test("An unreadable file is replaced only on request")
  func unreadableFile() async throws {
    @Shared(.fileStorage(.users)) var text = ""
    $text.withLock { $0 = "no list" }
    try await $text.save()
    @Shared(.fileStorage(.users)) var users: [User] = []
    #expect($users.loadError != nil)
    $users.withLock { $0.append(User(id: 1, name: "Blob")) }
    await #expect(throws: FileStorageError.self) { try await $users.save() }
    try await $users.save(replacingUnreadable: true)
    #expect($users.loadError == nil)
    #expect($text.loadError != nil)
  }

  @Test("A share of a removed element ignores writes until the element is added again")
  func removedElement() throws {
    let todo = Todo(id: 7)
    @Shared(value: [todo]) var todos: IdentifiedArrayOf<Todo>
    let element = try #require(Shared($todos[id: 7]))
    $todos.withLock { $0 = [] }
    element.withLock { $0.isDone = true }
    #expect(todos.isEmpty)
    #expect(element.wrappedValue == todo)
    $todos.withLock { $0[id: todo.id] = todo }
    element.withLock { $0.isDone = true }
    #expect(todos[id: 7]?.isDone == true)
  }

  private struct Todo: Identifiable, Equatable {
    let id: Int
    var isDone = false
  }
}
