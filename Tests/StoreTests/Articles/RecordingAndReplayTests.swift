import Foundation
import SharedStateDependencies
import SharedStateStore
import SharedStateTesting
import Testing

/// Answers one kind of question.
@Reducer
private struct Bot {
  struct State: Equatable, Codable, Sendable {
    var answers: [String] = []
    var lastHeard: Date?
  }

  enum Action: Equatable, Codable, Sendable {
    case heard(String)
    case answered(String)
  }

  @Dependency(\.date.now) var now

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .heard(let question):
        state.lastHeard = now
        let numbers = question.split { !$0.isNumber }.compactMap { Int($0) }
        return .run { send in await send(.answered("\(numbers.reduce(1, *))")) }
      case .answered(let answer):
        state.answers.append(answer)
        return .none
      }
    }
  }
}

/// The samples of the article of this name.
@Suite("Recording and replay", .timeLimit(.minutes(5)))
struct RecordingAndReplayTests {
  private func withDate<Result>(_ operation: () throws -> Result) rethrows -> Result {
    try withDependencies {
      $0.date.now = Date(timeIntervalSince1970: 0)
    } operation: {
      try operation()
    }
  }

  private func record() async throws -> ActionLogOf<Bot> {
    let (log, task) = withDate {
      let log = ActionLogOf<Bot>(limit: 10_000)
      let store = Store(initialState: Bot.State(), recording: log) { Bot() }
      store.send(.heard("What is 6 times 7?"))
      return (log, (store, store.send(.heard("2 3"))))
    }
    let (store, last) = task
    try await inTime("the answers") { await last.finish() }
    try await eventually("both answers") { store.answers.count == 2 }
    return log
  }

  @Test("A session is recorded")
  func recording() async throws {
    let log = try await record()
    var lines: [String] = []
    func print(_ number: Int, _ origin: String, _ action: Bot.Action) { lines.append("\(number) \(origin)") }
    for recorded in log.actions {
      print(recorded.number, recorded.isSentByEffect ? "effect" : "outside", recorded.action)
    }
    #expect(lines.count == 4)
    #expect(lines.count { $0.hasSuffix("effect") } == 2)
    #expect(lines.first == "1 outside")
  }

  @Test("A session is replayed")
  func replay() async throws {
    let log = try await record()
    try withDate {
      let state = try Store.replay(log) { Bot() }
      #expect(Set(state.answers) == ["42", "6"])
    }
    let state = try Store.replay(log) {
      Bot()
    } withDependencies: {
      $0.date.now = Date(timeIntervalSince1970: 0)
    }
    #expect(state.answers.count == 2)
  }

  @Test("A session is kept in a file")
  func file() async throws {
    let log = try await record()
    let file = FileManager.default.temporaryDirectory.appending(path: "session-\(UUID()).jsonl")
    defer { try? FileManager.default.removeItem(at: file) }
    try log.jsonLines().write(to: file)
    try withDate {
      let log = try ActionLogOf<Bot>(jsonLines: Data(contentsOf: file))
      let state = try Store.replay(log) { Bot() }
      #expect(Set(state.answers) == ["42", "6"])
    }
  }
}
