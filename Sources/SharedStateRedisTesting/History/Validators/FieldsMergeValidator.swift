/// A commit changes only the fields that it was made for, and is based on the content that was stored right before. An
/// increment is added to the number that others have stored. An element or a collection that a commit brings back is
/// complete.
///
/// Where commits are not recorded, a field that no box knows has to survive from one rest to the next.
struct FieldsMergeValidator: Validator {
  private var watched: Set<String> = []
  private var contents = StoredContents()
  /// The names of values that one service may have found gone, and another may have restored under the same revision.
  private var vanishing: Set<String> = []
  private var known: [String: Set<String>] = [:]
  /// The fields that were stored at the last rest, and that no box knows.
  private var unknown: [String: [String: String]] = [:]

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    defer { contents.observe(event) }
    switch event {
    case .declared(let name, let rules):
      if rules.isWatched { watched.insert(name) }
      if rules.expires { vanishing.insert(name) }
    case .evicted(let name), .expires(let name):
      vanishing.insert(name)
    case .opened(let box, let initial, _):
      known[box.name, default: []].formUnion(initial.fields.keys)
    case .committed(let commit):
      return (overwritten(by: commit) ?? difference(commit)).map { [$0] } ?? []
    case .edited(let name, let fields, let stored):
      for field in fields.fields.keys { unknown[name]?[field] = nil }
      if stored != nil { unknown[name] = nil }
    // A write to a server without data is not merged with the data that was lost.
    case .replaced, .lost:
      unknown = [:]
    case .rested(let rest):
      defer { remember(rest) }
      return rest.stored.sorted { $0.key < $1.key }.compactMap { erased(in: $1, of: $0) }
    default: break
    }
    return []
  }

  private func overwritten(by commit: RedisHistory.Commit) -> String? {
    guard let base = commit.base, base != commit.before.content, commit.condition != .replacing,
      // A program that knows no revisions may have written the stored content.
      commit.before.revision > 0, base != .absent || !vanishing.contains(commit.name),
      contents.wereOnly(commit.before.content, under: commit.before.revision, of: commit.name)
    else { return nil }
    let author = commit.box?.service ?? "another program"
    return "\(author) made \(commit.after) from \(RedisHistory.Stored(revision: 0, base)) in \(commit.name), "
      + "but \(commit.before) was stored"
  }

  private func difference(_ commit: RedisHistory.Commit) -> String? {
    guard let base = commit.base, base == commit.before.content, let changes = commit.changes,
      commit.condition != .replacing, let before = commit.before.document
    else { return nil }
    let author = commit.box?.service ?? "another program"
    if case .unreadable(let text) = commit.after.content {
      return "\(author) stored the unreadable \(text) in \(commit.name)"
    }
    guard let after = commit.after.document else { return nil }
    let origin: RedisHistory.Document? = if case .document(let document)? = commit.origin { document } else { nil }
    // The collections and elements that others have removed, or that were never stored.
    let missing = Set(changes.fields.keys.flatMap(RedisHistory.Document.places)).filter { !before.has($0) }
    func isMissing(_ field: String) -> Bool {
      RedisHistory.Document.places(of: field).contains(where: missing.contains)
    }
    let fields = Set(before.fields.keys).union(after.fields.keys).union(changes.fields.keys)
      .union(commit.increments.keys).union(origin?.fields.keys.filter(isMissing) ?? []).subtracting(missing)
    for field in fields.sorted() {
      let expected: String?
      if let increment = commit.increments[field] {
        let number = [before, origin].compactMap { $0?[field] }.first.flatMap { Int($0) } ?? 0
        expected = String(number + increment)
      } else if changes.fields[field] != nil {
        expected = changes[field]
      } else if isMissing(field) {
        expected = origin?[field]
      } else {
        expected = before[field]
      }
      guard after[field] != expected else { continue }
      return "\(author) made \(commit.after) from \(commit.before) in \(commit.name): '\(field)' should be "
        + (expected ?? "absent")
    }
    return nil
  }

  private mutating func remember(_ rest: RedisHistory.Rest) {
    for (name, stored) in rest.stored where !watched.contains(name) {
      let known = RedisHistory.Document(Dictionary(uniqueKeysWithValues: (known[name] ?? []).map { ($0, "") }))
      unknown[name] = stored.document?.fields.filter { known.fields[$0.key] == nil && !known.knows(element: $0.key) }
    }
  }

  private func erased(in stored: RedisHistory.Stored, of name: String) -> String? {
    for (field, text) in (unknown[name] ?? [:]).sorted(by: { $0.key < $1.key }) where stored.document?[field] != text {
      return "'\(field)' of \(name), which no service knows, was \(text) at the last rest, but \(stored) is stored"
    }
    return nil
  }
}
