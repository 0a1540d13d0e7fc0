package import Foundation
package import SharedStateStore
import Synchronization

/// What has happened in a session: every action, with the state after it.
///
/// As text it has a line of JSON for each action.
package struct Session: Equatable, Sendable {
  package struct Entry: Codable, Equatable, Sendable {
    package let action: Bot.Action
    package let state: Bot.State
  }

  /// Why a replay is not the session.
  package struct Difference: Error, Equatable, CustomStringConvertible {
    package let line: Int
    package let recorded: Entry
    package let state: Bot.State

    package var description: String {
      "Line \(line), \(recorded.action): the state was \(recorded.state), and is \(state) now."
    }
  }

  package var entries: [Entry] = []

  package init() {}

  /// - Throws: `DecodingError`.
  package init(lines: Data) throws {
    let decoder = JSONDecoder()
    entries = try lines.split(separator: UInt8(ascii: "\n")).map { try decoder.decode(Entry.self, from: $0) }
  }

  /// - Throws: `EncodingError`.
  package func lines() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try entries.reduce(into: Data()) { $0 += try encoder.encode($1) + [UInt8(ascii: "\n")] }
  }

  /// Reduces the actions again. Effects are not carried out: what they have sent is among the actions.
  ///
  /// - Returns: The last state.
  /// - Throws: `Difference`, at the first action after which the state is another one than it was.
  package func replay() throws -> Bot.State {
    let bot = Bot()
    var state = Bot.State()
    for (index, entry) in entries.enumerated() {
      _ = bot.reduce(into: &state, action: entry.action)
      if state != entry.state { throw Difference(line: index + 1, recorded: entry, state: state) }
    }
    return state
  }
}

/// Records the session of a bot.
package final class SessionRecorder: Sendable {
  /// The first ones are kept: without them, there is nothing to replay.
  package static let mostEntries = 100_000

  private let recorded = Mutex(Session())

  package init() {}

  package var session: Session { recorded.withLock { $0 } }

  /// The bot, with a record of what it does.
  package func recorded(_ bot: Bot) -> some ReducerOf<Bot> {
    CombineReducers {
      bot
      Reduce { [self] state, action in
        let entry = Session.Entry(action: action, state: state)
        recorded.withLock { if $0.entries.count < Self.mostEntries { $0.entries.append(entry) } }
        return .none
      }
    }
  }
}
