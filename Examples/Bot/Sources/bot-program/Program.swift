import Bot
import Foundation
import SharedStateStore

/// A bot on the terminal: `bot-program` talks, `--record FILE` saves the session, `--replay FILE` replays it.
///
/// A line is `name: text`. Try `ann: !remind 3 tea is ready`.
@main
struct Program {
  static func main() async {
    do {
      try await run()
    } catch {
      print(error)
      exit(1)
    }
  }

  private static func run() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch (arguments.first, arguments.count) {
    case (nil, _): await talk(ActionLogOf<Bot>())
    case ("--record", 2):
      let log = ActionLogOf<Bot>(limit: mostActions)
      await talk(log)
      try log.jsonLines().write(to: URL(filePath: arguments[1]))
    case ("--replay", 2):
      try replay(URL(filePath: arguments[1]))
    default:
      print("bot-program [--record FILE | --replay FILE]")
      exit(2)
    }
  }

  /// More actions than anybody types in a session.
  private static let mostActions = 100_000

  /// Replays a session, and reports the first difference.
  private static func replay(_ file: URL) throws {
    let log = try ActionLogOf<Bot>(jsonLines: Data(contentsOf: file))
    do {
      let state = try Store.replay(log) { Bot() }
      print("\(log.actions.count) actions lead to the same state again: \(state)")
    } catch {
      print(error)
      exit(1)
    }
  }

  /// Talks until the input has ended and no reminder is pending.
  private static func talk(_ log: ActionLogOf<Bot>) async {
    let store = Store(initialState: Bot.State(), recording: log) {
      Bot()
    } withDependencies: {
      $0.chat = Chat { print("bot: \($0)") }
    }
    var tasks: [StoreTask] = []
    while let line = readLine() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      tasks.append(store.send(.heard(name: String(parts[0]), text: parts[1].trimmingCharacters(in: .whitespaces))))
    }
    for task in tasks { await task.finish() }
  }
}
