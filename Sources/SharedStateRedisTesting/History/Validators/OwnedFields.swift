/// The last values that owners have assigned to their fields. Only the owner changes a field, so its last value has to
/// be stored at rest.
struct OwnedFields {
  private struct Change {
    let number: Int
    let text: String
  }

  private var owns: [RedisHistory.Box: [String]] = [:]
  private var changes: [RedisHistory.Box: [String: Change]] = [:]
  private var saved: [RedisHistory.Box: Int] = [:]
  private var conceded: [RedisHistory.Box: Int] = [:]

  mutating func observe(_ event: RedisHistory.Event) {
    switch event {
    case .opened(let box, _, let fields) where !fields.isEmpty:
      owns[box] = fields
    case .changed(let box, let number, let document):
      for field in owns[box] ?? [] {
        if let text = document[field] { changes[box, default: [:]][field] = Change(number: number, text: text) }
      }
    case .saved(let box, let through) where owns[box] != nil:
      saved[box] = max(saved[box] ?? 0, through)
    case .conceded(let box, let through), .notEncodable(let box, let through):
      if owns[box] != nil { conceded[box] = max(conceded[box] ?? 0, through) }
    default: break
    }
  }

  /// Describes a change of a box that is not stored: either one that was reported to the program as saved, or one of
  /// the others.
  func missing(of box: RedisHistory.Box, in stored: RedisHistory.Stored, ifSaved isSaved: Bool) -> String? {
    for (field, change) in changes[box] ?? [:] where change.number > conceded[box] ?? 0 {
      guard isSaved == (change.number <= saved[box] ?? 0), stored.document?[field] != change.text else { continue }
      return "\(box)'s change \(change.number) has set '\(field)' to \(change.text), but \(stored) is stored"
    }
    return nil
  }
}
