/// Nobody commits on top of a revision that cannot be read, unless somebody has asked to replace it.
struct BadDataHeldValidator: Validator {
  private var contents = StoredContents()

  mutating func observe(_ event: History.Event, at position: Int) -> [String] {
    defer { contents.observe(event) }
    guard case .committed(let commit) = event, commit.condition == .revision, let box = commit.box,
      case .unreadable(let text) = commit.before.content
    else { return [] }
    switch commit.cause {
    case .change, .updates: break
    case .reset, .adoption, .restoration, .merge: return []
    }
    // It may have been written over what was there, by somebody who has not told.
    guard commit.before.revision > 0,
      contents.wereOnly(commit.before.content, under: commit.before.revision, of: commit.name)
    else { return [] }
    return ["\(box) has overwritten the unreadable \(text), which is revision \(commit.before.revision)"]
  }
}
