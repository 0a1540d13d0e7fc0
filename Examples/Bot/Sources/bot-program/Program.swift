import Bot
import Foundation
import SharedStateStore

/// A bot on the terminal: `bot-program` talks, `--record FILE` writes the session down, `--replay FILE` repeats it.
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
    case (nil, _): await talk(SessionRecorder())
    case ("--record", 2):
      let recorder = SessionRecorder()
      await talk(recorder)
      try recorder.session.lines().write(to: URL(filePath: arguments[1]))
    case ("--replay", 2):
      let session = try Session(lines: Data(contentsOf: URL(filePath: arguments[1])))
      print("\(session.entries.count) actions lead to the same state again: \(try session.replay())")
    default:
      print("bot-program [--record FILE | --replay FILE]")
      exit(2)
    }
  }

  /// Talks until the input ends, and nobody has to be reminded any more.
  private static func talk(_ recorder: SessionRecorder) async {
    let store = Store(initialState: Bot.State()) {
      recorder.recorded(Bot())
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
