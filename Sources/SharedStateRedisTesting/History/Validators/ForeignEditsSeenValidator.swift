/// At rest every service knows the revision of the stored value, whoever wrote it. An edit of a value that a service
/// knew has a revision of its own. Adopting an edit does not change it. No service restores a deleted value.
struct ForeignEditsSeenValidator: Validator {
  private struct Known {
    var stored: RedisHistory.Stored
    /// The content of the last commit.
    let committed: RedisHistory.Stored.Content
    /// If the stored value is an edit that has no revision yet, the boxes that can recognise it as an edit.
    var witnesses: Set<RedisHistory.Box> = []
  }

  /// The names of values that are at rest.
  private var resting: Set<String> = []
  /// The fields that were edited while the value was at rest, so that nothing could overwrite them.
  private var edits: [String: RedisHistory.Document] = [:]
  /// The newest revision that each box has shown.
  private var shown: [RedisHistory.Box: UInt64] = [:]
  /// The stored versions, where they are known.
  private var stored: [String: Known] = [:]
  /// The names of values that were deleted, and have to stay deleted until they are changed.
  private var deleted: Set<String> = []
  /// The names of values that may expire. An expiry is no edit.
  private var expiring: Set<String> = []

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    switch event {
    case .declared(let name, let rules):
      if rules.expires { expiring.insert(name) }
    case .expires(let name):
      expiring.insert(name)
    case .changed(let box, _, _), .updateBegan(let box, _, _):
      resting.remove(box.name)
      edits[box.name] = nil
    case .replaced, .lost:
      resting = []
      edits = [:]
      stored = [:]
      deleted = []
    case .evicted, .forgotten:
      deleted = []
    case .deleted(let name):
      deleted.insert(name)
    case .edited(let name, let fields, let found):
      deleted.remove(name)
      if let found { edit(name, found) }
      if resting.contains(name) { edits[name, default: RedisHistory.Document()].apply(fields) }
    case .committed(let commit):
      stored[commit.name] = Known(stored: commit.after, committed: commit.after.content)
      if commit.box == nil { edits[commit.name] = nil }
      if deleted.contains(commit.name), commit.cause == .restoration || commit.cause == .merge,
        commit.after.content != .absent
      {
        return ["\(commit.name) was deleted, but is stored again: \(commit.after)"]
      }
      if commit.cause != .adoption { deleted.remove(commit.name) }
      guard commit.cause == .adoption, commit.after.content != commit.before.content else { break }
      return ["adopting \(commit.name) has changed it from \(commit.before) to \(commit.after)"]
    case .shown(let box, _, let revision?, _):
      shown[box] = revision
    case .rested(let rest):
      defer { (resting, edits) = (Set(rest.stored.keys), [:]) }
      return rest.boxes.flatMap { unseen(by: $0, in: rest) }
    default: break
    }
    return []
  }

  private mutating func edit(_ name: String, _ found: RedisHistory.Stored) {
    guard var known = stored[name], known.stored.revision == found.revision else { return stored[name] = nil }
    if known.stored.content != found.content {
      known.witnesses.formUnion(shown.filter { $0.key.name == name && $0.value == found.revision }.keys)
    }
    if known.committed == found.content { known.witnesses = [] }
    known.stored = found
    stored[name] = known
  }

  private func unseen(by held: RedisHistory.Rest.Held, in rest: RedisHistory.Rest) -> [String] {
    guard let stored = rest.stored[held.box.name] else { return [] }
    let last = self.stored[held.box.name]
    var violations: [String] = []
    if let revision = held.revision, revision != stored.revision {
      violations.append("\(held.box) is at \(revision), but \(stored) is stored")
    }
    if stored.revision == 0, stored.content != .absent {
      violations.append("the stored value of \(held.box) has no revision: \(stored)")
    }
    let isOver = stored.content == .absent && (stored.revision == 0 || expiring.contains(held.box.name))
    if let last, last.witnesses.contains(held.box), last.stored == stored, !isOver {
      violations.append("an edit of \(held.box) has no revision of its own: \(stored)")
    }
    for (field, text) in edits[held.box.name]?.fields ?? [:] {
      guard stored.document?[field] != text || held.document.fields[field] ?? text != text else { continue }
      violations.append("'\(field)' was edited to \(text), but \(held.box) has \(held.document), stored is \(stored)")
    }
    return violations
  }
}
