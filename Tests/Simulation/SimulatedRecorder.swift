@testable import SharedStateRedis
import SharedStateRedisTesting

/// The history of one schedule.
final class SimulatedRecorder {
  private(set) var history = RedisHistory()
  /// A cache of parsed contents, because most contents are recorded many times.
  private var contents: [StoredValue.Content: RedisHistory.Stored.Content] = [:]
  private var touched: Set<Touch> = []
  private var boxes = 0

  private struct Touch: Hashable {
    let service: Int
    let keys: [String]
  }

  func record(_ event: RedisHistory.Event) { history.record(event) }

  func makeBox(service: String, name: String) -> RedisHistory.Box {
    boxes += 1
    return RedisHistory.Box(service: service, name: name, number: boxes)
  }

  /// A service touches keys, or listens to channels. Only the first time is recorded.
  func touch(_ keys: [String], by service: SimulatedService) {
    guard touched.insert(Touch(service: service.index, keys: keys)).inserted else { return }
    record(.touched(service: service.name, keys))
  }

  func stored(_ stored: StoredValue) -> RedisHistory.Stored {
    RedisHistory.Stored(revision: stored.revision.rawValue, content(stored.content))
  }

  func content(_ content: StoredValue.Content) -> RedisHistory.Stored.Content {
    if let known = contents[content] { return known }
    let made: RedisHistory.Stored.Content =
      switch content {
      case .absent: .absent
      case .otherType(let type): .unreadable(type)
      case .oversized: .unreadable("oversized")
      case .document(let data):
        SimulatedDocument(data).map { .document($0.recorded) } ?? .unreadable(String(decoding: data, as: UTF8.self))
      }
    contents[content] = made
    return made
  }

  /// The content that a box showed before a change.
  func content(_ base: Replica.Base) -> RedisHistory.Stored.Content {
    switch base {
    case .defaultValue: return .absent
    case .stored(let document): return content(.document(document))
    case .encoded(let own, let stored):
      let stored = content(.document(stored))
      guard case .document(let own) = content(.document(own)), case .document(let others) = stored else {
        return stored
      }
      // The box still shows what others had removed when the document was stored, because it has changed since.
      return .document(RedisHistory.Document(own.fields.merging(others.fields) { $1 }))
    }
  }
}

extension KeyNames {
  /// The name of the value in a history. It distinguishes two names that Unicode regards as equal.
  var recorded: String {
    value.unicodeScalars.map { $0.isASCII ? String($0) : "<\(String($0.value, radix: 16))>" }.joined()
  }
}
