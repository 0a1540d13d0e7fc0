/// No service commits on top of an unreadable revision, unless the program has asked to replace it.
struct BadDataHeldValidator: Validator {
  private var contents = StoredContents()

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    defer { contents.observe(event) }
    guard case .committed(let commit) = event, commit.condition == .revision, let box = commit.box,
      case .unreadable(let text) = commit.before.content
    else { return [] }
    switch commit.cause {
    case .change, .updates: break
    case .reset, .adoption, .restoration, .merge: return []
    }
    // The unreadable content may have replaced a readable one under the same revision, without an announcement.
    guard commit.before.revision > 0,
      contents.wereOnly(commit.before.content, under: commit.before.revision, of: commit.name)
    else { return [] }
    return ["\(box) has overwritten the unreadable \(text), which is revision \(commit.before.revision)"]
  }
}
