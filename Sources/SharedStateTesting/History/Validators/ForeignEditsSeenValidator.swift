/// At rest every service knows the revision of what is stored, however it came there; and who gives an edit its revision
/// leaves the edit as it is.
struct ForeignEditsSeenValidator: Validator {
  /// The names of values that are at rest.
  private var resting: Set<String> = []
  /// What was edited while the value was at rest, so that nothing could overwrite it.
  private var edits: [String: History.Document] = [:]

  mutating func observe(_ event: History.Event, at position: Int) -> [String] {
    switch event {
    case .changed(let box, _, _), .updateBegan(let box, _, _):
      resting.remove(box.name)
      edits[box.name] = nil
    case .replaced, .lost:
      resting = []
      edits = [:]
    case .edited(let name, let fields, _):
      if resting.contains(name) { edits[name, default: History.Document()].apply(fields) }
    case .committed(let commit):
      if commit.box == nil { edits[commit.name] = nil }
      guard commit.cause == .adoption, commit.after.content != commit.before.content else { break }
      return ["adopting \(commit.name) has changed it from \(commit.before) to \(commit.after)"]
    case .rested(let rest):
      defer { (resting, edits) = (Set(rest.stored.keys), [:]) }
      return rest.boxes.flatMap { unseen(by: $0, in: rest) }
    default: break
    }
    return []
  }

  private func unseen(by held: History.Rest.Held, in rest: History.Rest) -> [String] {
    guard let stored = rest.stored[held.box.name] else { return [] }
    var violations: [String] = []
    if let revision = held.revision, revision != stored.revision {
      violations.append("\(held.box) is at \(revision), stored is \(stored)")
    }
    if stored.revision == 0, stored.content != .absent {
      violations.append("what is stored of \(held.box) has no revision: \(stored)")
    }
    for (field, text) in edits[held.box.name]?.fields ?? [:] {
      guard stored.document?[field] != text || held.document.fields[field] ?? text != text else { continue }
      violations.append("'\(field)' was edited to \(text), \(held.box) has \(held.document), stored is \(stored)")
    }
    return violations
  }
}
