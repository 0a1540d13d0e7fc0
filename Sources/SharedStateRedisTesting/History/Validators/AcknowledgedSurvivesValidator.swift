/// At rest the server has everything that it had acknowledged, or that a box has shown; and nothing but what it had is
/// given back to it.
struct AcknowledgedSurvivesValidator: Validator {
  private var rules: [String: History.Rules] = [:]
  /// The newest revision that each box has shown, or that is its own and acknowledged.
  private var reached: [History.Box: UInt64] = [:]
  /// The newest revision that is each box's own and acknowledged.
  private var acknowledged: [History.Box: UInt64] = [:]
  /// The newest revision under which each box has shown nothing.
  private var deleted: [History.Box: UInt64] = [:]
  /// The revision under which each box has found nothing where something may have been evicted.
  private var gone: [History.Box: UInt64] = [:]
  private var contents = StoredContents()
  private var ancestry = Ancestry()
  /// What each box has made last, as far as the server has acknowledged it; not what its service has then given up for
  /// what a damaged server had accepted.
  private var own: [History.Box: History.Stored] = [:]
  private var made: [History.Box: [UInt64: History.Stored]] = [:]
  /// The names whose value somebody lets expire.
  private var expiring: Set<String> = []
  /// The names whose value may have been evicted. Who finds that has not seen what the revision was, and what he had
  /// seen before was older.
  private var evicted: Set<String> = []
  /// The names whose value somebody has deleted or replaced since it was written last, knowing what he did or not.
  private var disposed: Set<String> = []
  private var owned = OwnedFields()
  /// What was stored at the last rest, under the names that nobody has changed since.
  private var untouched: [String: History.Stored] = [:]

  mutating func observe(_ event: History.Event, at position: Int) -> [String] {
    defer {
      contents.observe(event)
      ancestry.observe(event)
    }
    owned.observe(event)
    switch event {
    case .declared(let name, let rules):
      self.rules[name] = rules
    case .opened(let box, _, _):
      reached[box] = 0
    case .changed(let box, _, _), .updateBegan(let box, _, _):
      untouched[box.name] = nil
    case .edited(let name, _, let stored):
      untouched[name] = nil
      if stored?.document == nil { disposed.insert(name) }
    case .expires(let name):
      expiring.insert(name)
    case .evicted(let name):
      evicted.insert(name)
    case .lost:
      untouched = [:]
    case .shown(let box, nil, let revision?, isFromOutside: true) where evicted.contains(box.name):
      if revision > reached[box] ?? 0 {
        reached[box] = 0
      } else if revision == reached[box], disposed.contains(box.name) {
        // A message told of it, and nobody has read it before it was replaced.
        reached[box] = acknowledged[box] ?? 0
      }
      gone[box] = revision
    // What is there again has no revision of its own yet.
    case .shown(let box, .some, let revision?, _) where gone[box] == revision: break
    case .shown(let box, let document, let revision?, _):
      if document == nil { deleted[box] = revision }
      reached[box] = max(reached[box] ?? 0, revision)
    case .withdrawn(let box):
      reached[box] = acknowledged[box] ?? 0
    case .acknowledged(let box, _, let revision):
      acknowledged[box] = max(acknowledged[box] ?? 0, revision)
      own[box] = made[box]?[revision]
      reached[box] = max(reached[box] ?? 0, revision)
    case .committed(let commit):
      untouched[commit.name] = nil
      switch commit.cause {
      case .change, .updates: disposed.remove(commit.name)
      case .reset: disposed.insert(commit.name)
      case .adoption, .merge, .restoration: break
      }
      if let box = commit.box { made[box, default: [:]][commit.after.revision] = commit.after }
      if commit.cause == .adoption, commit.after.content == .absent, evicted.contains(commit.name),
        !disposed.contains(commit.name), !mayExpire(commit.name), !(rules[commit.name]?.followsLosses ?? false),
        own.contains(where: { $0.key.name == commit.name })
      {
        return ["\(commit.name) was thrown away, and \(commit.after) calls it deleted"]
      }
      // What both were made of is forgotten: what the server has accepted in between is kept whole, and that is told.
      if commit.cause == .merge, commit.includes == nil { own = own.filter { $0.key.name != commit.name } }
      if commit.cause == .restoration, commit.before.revision > 0,
        !ancestry.isMade(commit.after, of: commit.before, name: commit.name)
      {
        return ["\(commit.name) was restored to \(commit.after), which was not made of \(commit.before)"]
      }
      guard commit.cause == .restoration, rules[commit.name]?.isWatched ?? false else { break }
      // That it has expired is given back, too.
      if commit.after.content == .absent, mayExpire(commit.name) { break }
      if !contents.were(commit.after.content, under: commit.after.revision, of: commit.name) {
        return ["\(commit.name) was restored with what it has never been: \(commit.after)"]
      }
    case .rested(let rest):
      defer { untouched = rest.stored }
      return rest.boxes.flatMap { missing($0.box, in: rest) }
    default: break
    }
    return []
  }

  private func mayExpire(_ name: String) -> Bool {
    rules[name]?.expires ?? false || expiring.contains(name)
  }

  private func wasValue(_ revision: UInt64, of name: String) -> Bool {
    contents.were(under: revision...revision, of: name) { $0 != .absent }
  }

  private func missing(_ box: History.Box, in rest: History.Rest) -> [String] {
    guard let stored = rest.stored[box.name] else { return [] }
    let rules = rules[box.name] ?? History.Rules()
    guard !rules.followsLosses, !rules.expires else { return [] }
    var violations: [String] = []
    // A tombstone is evicted like everything else, and nothing is no tombstone.
    let isDeleted =
      deleted[box] == reached[box]
      && (evicted.contains(box.name) || wasValue(reached[box] ?? 0, of: box.name))
    if let reached = reached[box], stored.revision < reached, !isDeleted {
      violations.append("\(box) has had \(reached), stored is \(stored)")
    }
    if rules.isWatched, stored.revision > 0, stored.revision == reached[box],
      // Who knows by a message only what was evicted right behind it does not give it back.
      stored.content != .absent
        || !mayExpire(box.name) && (!evicted.contains(box.name) || acknowledged[box] == stored.revision),
      !contents.were(stored.content, under: stored.revision, of: box.name)
    {
      violations.append("\(box) has had \(stored.revision), which has never been what is stored: \(stored)")
    }
    if rules.isWatched, !evicted.contains(box.name), !mayExpire(box.name), let own = own[box],
      !ancestry.isMade(stored, of: own, name: box.name)
    {
      violations.append("\(box) has made \(own), which is no part of what is stored: \(stored)")
    }
    if evicted.contains(box.name), !disposed.contains(box.name), !mayExpire(box.name), let own = own[box],
      own.content != .absent, stored.content == .absent
    {
      violations.append("\(box) has made \(own), which was thrown away, and nobody has given it back")
    }
    if let before = untouched[box.name], before.content != stored.content,
      stored.content != .absent || !mayExpire(box.name)
    {
      violations.append("nobody has changed \(box.name) since \(before) was stored, and now it is \(stored)")
    }
    return violations + (owned.missing(of: box, in: stored, ifSaved: true).map { [$0] } ?? [])
  }
}
