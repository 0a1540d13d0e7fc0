import Bot
import Foundation
import SharedStateDependencies
import SharedStateStore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SessionTests {
  /// A session with dice and a reminder.
  private func recordSession() async -> (session: Session, state: Bot.State) {
    let recorder = SessionRecorder()
    let store = Store(initialState: Bot.State()) {
      recorder.recorded(Bot())
    } withDependencies: {
      $0.chat = Chat { _ in }
      $0.continuousClock = ImmediateClock()
      $0.withRandomNumberGenerator = WithRandomNumberGenerator(SystemRandomNumberGenerator())
    }
    for text in ["hello", "!roll 1000000", "!remind 60 tea", "!lines"] {
      await store.send(.heard(name: "ann", text: text)).finish()
    }
    return (recorder.session, store.state)
  }

  @Test func aSessionIsReplayedFromItsLines() async throws {
    let (session, state) = await recordSession()
    #expect(session.entries.count == 6)
    let read = try Session(lines: session.lines())
    #expect(read == session)
    #expect(try read.replay() == state)
  }

  @Test func theFirstActionThatDiffersIsNamed() async throws {
    let (session, _) = await recordSession()
    let lines = String(decoding: try session.lines(), as: UTF8.self)
    // Somebody else has said the first line.
    let forged = lines.replacing(#""name":"ann","text":"hello""#, with: #""name":"bob","text":"hello""#)
    let difference = #expect(throws: Session.Difference.self) {
      try Session(lines: Data(forged.utf8)).replay()
    }
    #expect(difference?.line == 1)
    #expect(difference?.state.lines == ["bob": 1])
  }
}
