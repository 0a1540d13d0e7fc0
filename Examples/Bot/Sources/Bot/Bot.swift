import SharedStateDependencies
package import SharedStateStore

/// A bot that rolls dice, counts the lines of each person, and reminds people.
///
/// Everything that it cannot compute reaches it as an action. So its actions are a full record: what was said, what was
/// rolled, and when a wait was over.
@Reducer
package struct Bot: Sendable {
  package struct State: Codable, Equatable, Sendable {
    package struct Reminder: Codable, Equatable, Sendable {
      package let id: Int
      package let name: String
      package let text: String

      package init(id: Int, name: String, text: String) {
        self.id = id
        self.name = name
        self.text = text
      }
    }

    package var lines: [String: Int] = [:]
    package var reminders: [Reminder] = []
    package var nextReminder = 1

    package init() {}
  }

  package enum Action: Codable, Equatable, Sendable {
    case heard(name: String, text: String)
    case rolled(name: String, number: Int)
    case timeIsUp(reminder: Int)
  }

  package static let mostReminders = 100

  @Dependency(\.chat) var chat
  @Dependency(\.continuousClock) var clock
  @Dependency(\.withRandomNumberGenerator) var withRandomNumberGenerator

  package init() {}

  package var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .heard(let name, let text):
        state.lines[name, default: 0] += 1
        let words = text.split(separator: " ", maxSplits: 2)
        switch words.first {
        case "!roll":
          guard words.count == 2, let sides = Int(words[1]), sides > 0 else { return say("Say !roll 6.") }
          return .run { send in
            let number = withRandomNumberGenerator { Int.random(in: 1...sides, using: &$0) }
            await send(.rolled(name: name, number: number))
          }
        case "!lines":
          return say("\(name) has said \(state.lines[name, default: 0]) lines.")
        case "!remind":
          guard words.count == 3, let seconds = Int(words[1]), (1...86_400).contains(seconds) else {
            return say("Say !remind 60 tea is ready.")
          }
          guard state.reminders.count < Self.mostReminders else { return say("Too many people are waiting already.") }
          let reminder = State.Reminder(id: state.nextReminder, name: name, text: String(words[2]))
          state.nextReminder += 1
          state.reminders.append(reminder)
          return .run { send in
            try await clock.sleep(for: .seconds(seconds))
            await send(.timeIsUp(reminder: reminder.id))
          }
        default:
          return .none
        }
      case .rolled(let name, let number):
        return say("\(name) has rolled \(number).")
      case .timeIsUp(let id):
        guard let index = state.reminders.firstIndex(where: { $0.id == id }) else { return .none }
        let reminder = state.reminders.remove(at: index)
        return say("\(reminder.name): \(reminder.text)")
      }
    }
  }

  private func say(_ text: String) -> Effect<Action> {
    .run { _ in chat.say(text) }
  }
}
