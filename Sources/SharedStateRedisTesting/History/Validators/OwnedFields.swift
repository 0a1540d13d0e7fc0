/// The last values that owners have given to their fields. Only the owner changes a field, so its last value has to be
/// stored at rest.
struct OwnedFields {
  private struct Change {
    let number: Int
    let text: String
  }

  private var owns: [History.Box: [String]] = [:]
  private var changes: [History.Box: [String: Change]] = [:]
  private var saved: [History.Box: Int] = [:]
  private var conceded: [History.Box: Int] = [:]

  mutating func observe(_ event: History.Event) {
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

  /// Describes a change of a box that is not stored: either one that the program was told is saved, or one of the
  /// others.
  func missing(of box: History.Box, in stored: History.Stored, ifSaved isSaved: Bool) -> String? {
    for (field, change) in changes[box] ?? [:] where change.number > conceded[box] ?? 0 {
      guard isSaved == (change.number <= saved[box] ?? 0), stored.document?[field] != change.text else { continue }
      return "\(box)'s change \(change.number) has set '\(field)' to \(change.text), but \(stored) is stored"
    }
    return nil
  }
}
