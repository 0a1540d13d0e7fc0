import Bot
import Foundation
import SharedStateDependencies
import SharedStateStore
import Testing

@Suite("A recorded session", .timeLimit(.minutes(5)))
struct SessionTests {
  /// A session with dice and a reminder.
  private func recordSession() async -> (log: ActionLogOf<Bot>, state: Bot.State) {
    let log = ActionLogOf<Bot>()
    let store = Store(initialState: Bot.State(), recording: log) {
      Bot()
    } withDependencies: {
      $0.chat = Chat { _ in }
      $0.continuousClock = ImmediateClock()
      $0.withRandomNumberGenerator = WithRandomNumberGenerator(SystemRandomNumberGenerator())
    }
    for text in ["hello", "!roll 1000000", "!remind 60 tea", "!lines"] {
      await store.send(.heard(name: "ann", text: text)).finish()
    }
    return (log, store.state)
  }

  @Test("A session read from its JSON lines is replayed to the same state")
  func replayedSession() async throws {
    let (log, state) = await recordSession()
    #expect(log.actions.map(\.isSentByEffect) == [false, false, true, false, true, false])
    let read = try ActionLogOf<Bot>(jsonLines: log.jsonLines())
    #expect(try Store.replay(read) { Bot() } == state)
  }

  @Test("The replay of a forged log names the first action that differs")
  func forgedLog() async throws {
    let (log, _) = await recordSession()
    let lines = String(decoding: try log.jsonLines(), as: UTF8.self)
    // Another person has said the first line.
    let forged = lines.replacing("ann", with: "bob", maxReplacements: 1)
    #expect(forged != lines)
    let read = try ActionLogOf<Bot>(jsonLines: Data(forged.utf8))
    let error = #expect(throws: ReplayError.self) { try Store.replay(read) { Bot() } }
    #expect(error?.number == 1)
  }
}
