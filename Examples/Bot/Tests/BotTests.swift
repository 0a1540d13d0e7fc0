import Bot
import Foundation
import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateStoreTesting
import Synchronization
import Testing

@Suite("The bot", .timeLimit(.minutes(5)))
struct BotTests {
  /// Collects the lines of the bot.
  final class Wall: Sendable {
    private let said = Mutex<[String]>([])
    var lines: [String] { said.withLock { $0 } }
    var chat: Chat { Chat { [self] line in said.withLock { $0.append(line) } } }
  }

  struct Dice: RandomNumberGenerator {
    func next() -> UInt64 { .max / 2 }
  }

  private let wall = Wall()
  private let clock = TestClock()

  private func makeStore() -> TestStoreOf<Bot> {
    TestStore(initialState: Bot.State()) {
      Bot()
    } withDependencies: {
      $0.chat = wall.chat
      $0.continuousClock = clock
      $0.withRandomNumberGenerator = WithRandomNumberGenerator(Dice())
    }
  }

  @Test("The bot sends a reminder when its time is up")
  func dueReminder() async {
    let store = makeStore()
    await store.send(.heard(name: "ann", text: "!remind 60 tea is ready")) {
      $0.lines = ["ann": 1]
      $0.reminders = [Bot.State.Reminder(id: 1, name: "ann", text: "tea is ready")]
      $0.nextReminder = 2
    }
    await clock.advance(by: .seconds(59))
    #expect(wall.lines.isEmpty)
    await clock.advance(by: .seconds(1))
    await store.receive(.timeIsUp(reminder: 1)) { $0.reminders = [] }
    await store.finish()
    #expect(wall.lines == ["ann: tea is ready"])
  }

  @Test("The bot rolls dice on request")
  func itRollsDice() async {
    let store = makeStore()
    await store.send(.heard(name: "bob", text: "!roll 6")) { $0.lines = ["bob": 1] }
    await store.receive(\.rolled)
    await store.finish()
    #expect(wall.lines.count == 1)
    #expect(wall.lines[0].hasPrefix("bob has rolled "))
  }

  @Test("The bot explains incomplete commands and counts lines")
  func incompleteCommands() async {
    let store = makeStore()
    store.exhaustivity = .off
    for text in ["!roll", "!remind tea", "!lines", "hello"] { await store.send(.heard(name: "ann", text: text)) }
    await store.finish()
    #expect(wall.lines == ["Say !roll 6.", "Say !remind 60 tea is ready.", "ann has said 3 lines."])
  }
}
