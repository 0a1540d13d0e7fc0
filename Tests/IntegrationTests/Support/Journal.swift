import Logging
import Synchronization
import Testing

/// The log entries of stores, for tests that check which store logged which message.
final class Journal: Sendable {
  struct Entry: Hashable, Sendable {
    let store: String
    let message: String
    let name: String?
    let error: String?
    let members: String?
    let names: String?
    let committedBy: String?
    let server: String?
    let label: String?
    let sentinel: String?
    let reason: String?
    let level: Logger.Level
  }

  private let state = Mutex<[Entry]>([])

  /// The entries so far, with those that the stores of the test are about to write.
  var entries: [Entry] {
    TestStores.waitForLogs()
    return state.withLock { $0 }
  }

  /// Returns a logger for one store.
  func logger(_ store: String, level: Logger.Level = .debug) -> Logger {
    Logger(label: store) { _ in Handler(store: store, journal: self, logLevel: level) }
  }

  /// The entries whose message contains the text. `store` and `name` narrow them to one store and one name.
  func entries(_ text: String, of store: String? = nil, name: String? = nil) -> [Entry] {
    entries.filter { entry in
      entry.message.contains(text) && (store ?? entry.store) == entry.store && (name ?? entry.name) == entry.name
    }
  }

  private struct Handler: LogHandler {
    let store: String
    let journal: Journal
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let name = event.metadata?["name"]?.description
      let entry = Entry(
        store: store,
        message: event.message.description,
        name: name,
        error: event.metadata?["error"]?.description,
        members: event.metadata?["members"]?.description,
        names: event.metadata?["names"]?.description,
        committedBy: event.metadata?["committedBy"]?.description,
        server: event.metadata?["server"]?.description,
        label: event.metadata?["label"]?.description,
        sentinel: event.metadata?["sentinel"]?.description,
        reason: event.metadata?["reason"]?.description,
        level: event.level
      )
      journal.state.withLock { $0.append(entry) }
    }
  }
}

extension Journal {
  static let rejected = "will not be sent"
  static let restored = "Restored a value"
  static let unproven = "unauthenticated message"
  static let unmerged = "Changes that Redis lost"
  static let merged = "Merged a value that Redis lost"
  static let adopted = "Adopted an external edit"
  static let lostHistory = "lost the newest version"
  static let completed = "lacks members that this service requires"
  static let vitalsRefused = "does not report whether it evicts keys"
  static let closesIdleConnections = "close idle connections"
  static let trackingRefused = "does not report which keys"
}
