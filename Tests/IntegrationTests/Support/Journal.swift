import Logging
import Synchronization
import Testing

/// What stores have logged, for those tests that ask who has told what.
final class Journal: Sendable {
  struct Entry: Hashable, Sendable {
    let store: String
    let message: String
    let name: String?
    let error: String?
    let members: String?
    let server: String?
    let label: String?
    let level: Logger.Level
  }

  private let state = Mutex<[Entry]>([])

  var entries: [Entry] { state.withLock { $0 } }

  /// A logger for one store.
  func logger(_ store: String) -> Logger {
    Logger(label: store) { _ in Handler(store: store, journal: self) }
  }

  /// The entries of all stores, or of one, whose message has this text, about this name.
  func entries(_ text: String, of store: String? = nil, name: String? = nil) -> [Entry] {
    entries.filter { entry in
      entry.message.contains(text) && (store ?? entry.store) == entry.store && (name ?? entry.name) == entry.name
    }
  }

  private struct Handler: LogHandler {
    let store: String
    let journal: Journal
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

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
        server: event.metadata?["server"]?.description,
        label: event.metadata?["label"]?.description,
        level: event.level
      )
      journal.state.withLock { $0.append(entry) }
    }
  }
}

extension Journal {
  static let restored = "given Redis back"
  static let withdrawn = "does not have"
  static let merged = "has merged what Redis had lost"
  static let adopted = "given a revision"
  static let lostHistory = "lost history"
  static let completed = "lacks members"
  static let vitalsRefused = "does not tell whether it throws keys away"
  static let closesIdleConnections = "closes connections that are idle"
  static let trackingRefused = "does not tell which keys"
}
