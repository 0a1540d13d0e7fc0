/// Revisions, and fields that only grow, never go back. A box shows under a revision only what the value has been under
/// that revision.
struct OrderedValidator: Validator {
  private struct Progress {
    var revision: UInt64 = 0
    var position = 0
    /// The numbers that were shown last.
    var numbers: [String: Int] = [:]
  }

  private var rules: [String: RedisHistory.Rules] = [:]
  private var boxes: [RedisHistory.Box: Progress] = [:]
  /// The fields of each value whose owners only make them greater.
  private var growing: [String: Set<String>] = [:]
  /// Whether an older value with a newer revision may have replaced a value that a service had seen.
  private var hasLost = false
  private var defaults: [RedisHistory.Box: RedisHistory.Document] = [:]
  /// The contents that were stored.
  private var contents = StoredContents()
  /// The names of values that may have expired while their revision is left.
  private var expiring: Set<String> = []
  /// The names of values that may have been evicted. A box that finds such a value gone may never have seen the content
  /// of the revision that it finds. The content that it had seen before was older.
  private var evicted: Set<String> = []

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    contents.observe(event)
    switch event {
    case .declared(let name, let rules):
      self.rules[name] = rules
      if rules.isCounter { growing[name, default: []].insert("") }
      if rules.expires { expiring.insert(name) }
    case .expires(let name):
      expiring.insert(name)
    case .evicted(let name):
      evicted.insert(name)
      hasLost = true
    case .opened(let box, let initial, let owns):
      boxes[box] = Progress()
      defaults[box] = initial
      if !owns.isEmpty { growing[box.name, default: []].formUnion(owns) }
    case .acknowledged(let box, _, let revision):
      if revision > boxes[box]?.revision ?? 0 { advance(box, to: revision, at: position) }
    case .shown(let box, nil, let revision?, isFromOutside: true) where evicted.contains(box.name):
      if revision > boxes[box]?.revision ?? 0 { boxes[box]?.revision = 0 }
    // An expired value is not restored, so where the server has lost it, the other services begin with smaller numbers.
    case .shown(let box, nil, let revision?, isFromOutside: true)
    where hasLost && expiring.contains(box.name) && revision >= boxes[box]?.revision ?? 0:
      boxes[box]?.revision = 0
    case .shown(let box, let document, let revision, let isFromOutside):
      let invention = isFromOutside ? invents(document, revision, in: box) : nil
      let violations = [goesBack(to: revision, in: box)] + (document.map { shrinks($0, in: box) } ?? [])
      if let revision, revision >= boxes[box]?.revision ?? 0 { advance(box, to: revision, at: position) }
      return ([invention] + violations).compactMap(\.self)
    case .committed(let commit) where commit.after.revision < commit.before.revision:
      return ["the server went from \(commit.before.revision) back to \(commit.after.revision) in \(commit.name)"]
    case .lost:
      hasLost = true
    default: break
    }
    return []
  }

  private func isWatched(_ box: RedisHistory.Box) -> Bool { rules[box.name]?.isWatched ?? false }

  private func goesBack(to revision: UInt64?, in box: RedisHistory.Box) -> String? {
    guard let revision, let progress = boxes[box], revision < progress.revision else { return nil }
    guard !(rules[box.name]?.followsLosses ?? false) else { return nil }
    return "\(box) went from \(progress.revision) (event \(progress.position)) back to \(revision)"
  }

  private mutating func advance(_ box: RedisHistory.Box, to revision: UInt64, at position: Int) {
    boxes[box, default: Progress()].revision = revision
    boxes[box]?.position = position
  }

  private func invents(_ document: RedisHistory.Document?, _ revision: UInt64?, in box: RedisHistory.Box) -> String? {
    guard isWatched(box), let initial = defaults[box], let revision else { return nil }
    if document == nil, revision == 0 || hasLost || expiring.contains(box.name) { return nil }
    // After a loss, the service may know the remaining value by a revision that the server has lost.
    let isKnown = contents.were(under: hasLost ? 0...revision : revision...revision, of: box.name) { content in
      switch content {
      case .absent: document == nil
      case .document(let stored): document.map { $0.shows(stored, default: initial) } ?? false
      case .unreadable: false
      }
    }
    return isKnown ? nil : "\(box) shows \(document.map { "\($0)" } ?? "nothing"), which \(revision) has never been"
  }

  private mutating func shrinks(_ document: RedisHistory.Document, in box: RedisHistory.Box) -> [String?] {
    guard !hasLost, let fields = growing[box.name] else { return [] }
    return fields.sorted().map { field in
      guard let number = document[field].flatMap({ Int($0) }) else { return nil }
      let previous = boxes[box, default: Progress()].numbers.updateValue(number, forKey: field)
      guard let previous, number < previous else { return nil }
      return "\(box) went from \(previous) back to \(number) in '\(field)', which only grows"
    }
  }
}
