/// At rest the server has everything that it had acknowledged or that a box has shown. A restoration stores only what
/// the server had before.
struct AcknowledgedSurvivesValidator: Validator {
  private var rules: [String: RedisHistory.Rules] = [:]
  /// The newest revision that each box has shown, or that is its own and acknowledged.
  private var reached: [RedisHistory.Box: UInt64] = [:]
  /// The newest revision that is each box's own and acknowledged.
  private var acknowledged: [RedisHistory.Box: UInt64] = [:]
  /// The newest revision under which each box has shown that nothing is stored.
  private var deleted: [RedisHistory.Box: UInt64] = [:]
  /// The revision under which each box has found nothing stored, for values that may have been evicted.
  private var gone: [RedisHistory.Box: UInt64] = [:]
  private var contents = StoredContents()
  private var ancestry = Ancestry()
  /// The last version that each box has stored and the server has acknowledged. A version is removed when its service
  /// gives it up for one that a damaged server has accepted.
  private var own: [RedisHistory.Box: RedisHistory.Stored] = [:]
  private var made: [RedisHistory.Box: [UInt64: RedisHistory.Stored]] = [:]
  /// The names of values that a program lets expire.
  private var expiring: Set<String> = []
  /// The names of values that may have been evicted. A box that finds such a value gone may never have seen the content
  /// of the revision that it finds. The content that it had seen before was older.
  private var evicted: Set<String> = []
  /// The names of values that were deleted or replaced since the last write, by a reset or by a program that knows no
  /// revisions.
  private var disposed: Set<String> = []
  private var owned = OwnedFields()
  /// The versions that were stored at the last rest, under the names that nothing has changed since.
  private var untouched: [String: RedisHistory.Stored] = [:]

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
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
        // The box knows the revision from a message, and no service read it before it was replaced.
        reached[box] = acknowledged[box] ?? 0
      }
      gone[box] = revision
    // A value that is stored again has no revision of its own yet.
    case .shown(let box, .some, let revision?, _) where gone[box] == revision: break
    case .shown(let box, let document, let revision?, _):
      if document == nil { deleted[box] = revision }
      reached[box] = max(reached[box] ?? 0, revision)
    case .acknowledged(let box, _, let revision):
      acknowledged[box] = max(acknowledged[box] ?? 0, revision)
      own[box] = made[box]?[revision]
      reached[box] = max(reached[box] ?? 0, revision)
    case .committed(let commit):
      untouched[commit.name] = nil
      switch commit.cause {
      case .change, .updates: disposed.remove(commit.name)
      case .reset: disposed.insert(commit.name)
      // The value was deleted on one of two primaries, which the change on the other one did not undo.
      case .merge where commit.after.content == .absent:
        if contents.were(.absent, under: commit.before.revision, of: commit.name) { disposed.insert(commit.name) }
      case .adoption, .merge, .restoration: break
      }
      if let box = commit.box { made[box, default: [:]][commit.after.revision] = commit.after }
      if commit.cause == .adoption, commit.after.content == .absent, evicted.contains(commit.name),
        !disposed.contains(commit.name), !mayExpire(commit.name), !(rules[commit.name]?.followsLosses ?? false),
        own.contains(where: { $0.key.name == commit.name })
      {
        return ["\(commit.name) was evicted, but \(commit.after) marks it as deleted"]
      }
      // No common ancestor is known to the service or kept by the server, or one side is a deletion. So everything that
      // the server has accepted in between is kept, and the service reports this.
      if commit.cause == .merge, commit.includes == nil { own = own.filter { $0.key.name != commit.name } }
      if commit.cause == .restoration, commit.before.revision > 0,
        !ancestry.isMade(commit.after, of: commit.before, name: commit.name)
      {
        return ["\(commit.name) was restored to \(commit.after), which was not made from \(commit.before)"]
      }
      guard commit.cause == .restoration, rules[commit.name]?.isWatched ?? false else { break }
      // An expiry is restored as well.
      if commit.after.content == .absent, mayExpire(commit.name) { break }
      if !contents.were(commit.after.content, under: commit.after.revision, of: commit.name) {
        return ["\(commit.name) was restored to a version that was never stored: \(commit.after)"]
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

  private func missing(_ box: RedisHistory.Box, in rest: RedisHistory.Rest) -> [String] {
    guard let stored = rest.stored[box.name] else { return [] }
    let rules = rules[box.name] ?? RedisHistory.Rules()
    guard !rules.followsLosses, !rules.expires else { return [] }
    var violations: [String] = []
    // A tombstone can be evicted like any other key. And if the revision was a value, its absence is no tombstone, so
    // it need not be stored.
    let isDeleted =
      deleted[box] == reached[box]
      && (evicted.contains(box.name) || wasValue(reached[box] ?? 0, of: box.name))
    if let reached = reached[box], stored.revision < reached, !isDeleted {
      violations.append("\(box) has had \(reached), but \(stored) is stored")
    }
    if rules.isWatched, stored.revision > 0, stored.revision == reached[box],
      // A service that knows an evicted value only from a message does not restore it.
      stored.content != .absent
        || !mayExpire(box.name) && (!evicted.contains(box.name) || acknowledged[box] == stored.revision),
      !contents.were(stored.content, under: stored.revision, of: box.name)
    {
      violations.append("\(box) has had \(stored.revision), which never had the content that is stored: \(stored)")
    }
    if rules.isWatched, !evicted.contains(box.name), !mayExpire(box.name), let own = own[box],
      !ancestry.isMade(stored, of: own, name: box.name)
    {
      violations.append("\(box) has stored \(own), which is not part of the stored version: \(stored)")
    }
    if evicted.contains(box.name), !disposed.contains(box.name), !mayExpire(box.name), let own = own[box],
      own.content != .absent, stored.content == .absent
    {
      violations.append("\(box) has stored \(own), which was evicted and not restored")
    }
    if let before = untouched[box.name], before.content != stored.content,
      stored.content != .absent || !mayExpire(box.name)
    {
      violations.append("\(box.name) was not changed since \(before) was stored, but now it is \(stored)")
    }
    return violations + (owned.missing(of: box, in: stored, ifSaved: true).map { [$0] } ?? [])
  }
}
