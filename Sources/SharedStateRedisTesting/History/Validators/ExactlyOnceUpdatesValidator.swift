/// An atomic update takes effect once when it succeeds, and never when it fails.
///
/// Where commits are not recorded, a counter serves instead: at rest it is the number of updates that have succeeded,
/// plus some of those whose outcome is unknown.
struct ExactlyOnceUpdatesValidator: Validator {
  private struct Key: Hashable {
    let service: String
    let number: Int
  }

  private struct Update {
    let changes: Bool
    let replacements: Int
    let losses: Int
    let overwrites: Int
    var effects = 0
    var outcome: RedisHistory.Outcome?
  }

  private struct Count {
    var succeeded = 0
    var open = 0
    /// The results of updates, each with the event that reported it.
    var results: [RedisHistory.Document: Int] = [:]
  }

  private var rules: [String: RedisHistory.Rules] = [:]
  private var updates: [Key: Update] = [:]
  private var counts: [String: Count] = [:]
  /// How often the server was replaced.
  private var replacements = 0
  /// How often the server has lost data, possibly including its memory of commits.
  private var losses = 0
  /// The names of values that were evicted. A value may be left without its revision.
  private var evicted: Set<String> = []
  /// The newest revision of each value so far.
  private var newest: [String: UInt64] = [:]
  /// How often each value was written after an eviction, without knowledge of the evicted value, while the clock had
  /// gone back. Nothing then shows that an earlier value existed.
  private var overwrites: [String: Int] = [:]
  /// Whether the server has ever forgotten the outcomes of operations. This alone makes no update take effect twice.
  private var hasForgotten = false
  /// Whether the server has lost or forgotten something, or refused to answer, since the last rest. It covers the time
  /// since the rest and not since the update, because the base of an update, and news that a service is about to
  /// receive, may be older than the update, but not older than the rest.
  private var mayBeUnknown = false

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    switch event {
    case .declared(let name, let rules): self.rules[name] = rules
    case .replaced: replacements += 1
    case .lost: (losses, mayBeUnknown) = (losses + 1, true)
    case .evicted(let name): evicted.insert(name)
    case .forgotten: (hasForgotten, mayBeUnknown) = (true, true)
    // An update may be based on a value that was never stored, as if the server had lost that value.
    case .refused: mayBeUnknown = true
    case .updateBegan(let box, let number, let changes):
      let key = Key(service: box.service, number: number)
      updates[key] = Update(
        changes: changes,
        replacements: replacements,
        losses: losses,
        overwrites: overwrites[box.name, default: 0]
      )
      counts[box.name, default: Count()].open += 1
    case .updateEnded(let box, let number, let outcome):
      return [count(outcome, in: box.name, at: position), end(number, of: box, outcome)].compactMap(\.self)
    case .committed(let commit):
      overwrite(by: commit)
      guard case .updates(let numbers) = commit.cause, let box = commit.box else { break }
      // If there was no value before, the server may have forgotten even that it applied the operation. It then applies
      // the operation again, again to no value, and with the same result.
      let isRepeated = commit.before.revision == 0 && hasForgotten
      return numbers.compactMap { takeEffect($0, of: box, isRepeated: isRepeated) }
    case .rested(let rest):
      mayBeUnknown = false
      return rest.stored.compactMap { total($1, of: $0) }
    default: break
    }
    return []
  }

  // MARK: Single commits

  private mutating func overwrite(by commit: RedisHistory.Commit) {
    let hasBeen = newest[commit.name] ?? 0
    newest[commit.name] = max(hasBeen, commit.after.revision)
    guard evicted.remove(commit.name) != nil, commit.before.revision == 0, commit.after.revision < hasBeen else {
      return
    }
    switch commit.cause {
    case .change, .reset: if commit.base != commit.before.content { overwrites[commit.name, default: 0] += 1 }
    // The restored value is older than the evicted one, which no service had read.
    case .restoration: overwrites[commit.name, default: 0] += 1
    case .updates, .adoption, .merge: break
    }
  }

  private mutating func takeEffect(_ number: Int, of box: RedisHistory.Box, isRepeated: Bool) -> String? {
    let key = Key(service: box.service, number: number)
    guard var update = updates[key] else { return nil }
    update.effects = isRepeated ? 1 : update.effects + 1
    updates[key] = update
    if update.outcome == .failed { return "the update \(number) of \(box) had failed, but took effect" }
    guard update.effects > 1, update.replacements == replacements, !isLost(update, in: box.name) else { return nil }
    return "the update \(number) of \(box) took effect \(update.effects) times"
  }

  /// If the server has lost an effect together with its memory of commits, only the last effect is left.
  private func isMiscounted(_ update: Update, in name: String) -> Bool {
    let expected = update.changes ? 1 : 0
    return isLost(update, in: name) ? update.effects < expected : update.effects != expected
  }

  private func isLost(_ update: Update, in name: String) -> Bool {
    update.losses != losses || update.overwrites != overwrites[name, default: 0]
  }

  private mutating func end(_ number: Int, of box: RedisHistory.Box, _ outcome: RedisHistory.Outcome) -> String? {
    let key = Key(service: box.service, number: number)
    updates[key]?.outcome = outcome
    guard let update = updates[key], rules[box.name]?.isWatched ?? false else { return nil }
    let isReplaced = update.replacements != replacements
    switch outcome {
    case .succeeded where !isReplaced && isMiscounted(update, in: box.name):
      return "the update \(number) of \(box) has succeeded, but took effect \(update.effects) times"
    case .failed where update.effects > 0:
      return "the update \(number) of \(box) has failed, but took effect"
    case .unknown where !isReplaced && !mayBeUnknown:
      return "the outcome of the update \(number) of \(box) is unknown, although the server is the same"
    default: return nil
    }
  }

  // MARK: Counters

  private mutating func count(_ outcome: RedisHistory.Outcome, in name: String, at position: Int) -> String? {
    switch outcome {
    case .succeeded(let result):
      counts[name]?.open -= 1
      counts[name]?.succeeded += 1
      guard rules[name]?.isCounter ?? false, let result else { return nil }
      let previous = counts[name]?.results.updateValue(position, forKey: result)
      return previous.flatMap {
        losses > 0 ? nil : "two updates have set \(name) to \(result); the other one is event \($0)"
      }
    case .failed:
      counts[name]?.open -= 1
    case .unknown, .abandoned: break
    }
    return nil
  }

  private func total(_ stored: RedisHistory.Stored, of name: String) -> String? {
    guard rules[name]?.isCounter ?? false else { return nil }
    let (number, count) = (stored.document?[""].flatMap { Int($0) } ?? 0, counts[name] ?? Count())
    guard number > count.succeeded + count.open || losses == 0 && number < count.succeeded else { return nil }
    return "\(count.succeeded) updates of \(name) have succeeded, \(count.open) may have, and \(stored) is stored"
  }
}
