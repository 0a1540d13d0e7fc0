import Testing

@testable import SharedState

@Suite("The tasks of a key", .timeLimit(.minutes(5)))
struct KeyTasksTests {
  @Test("Tasks that have ended are not kept")
  func ended() async {
    let tasks = KeyTasks()
    for _ in 0..<100 { await KeyTasks.$current.withValue(tasks) { KeyTasks.run {} }.value }
    #expect(tasks.count == 0)
  }
}
