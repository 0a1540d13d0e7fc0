/// Services touch only permitted keys and channels, and leave the keys of others alone.
struct IsolatedValidator: Validator {
  private var exact: Set<String> = []
  private var prefixes: [String] = []
  private var others: Set<String> = []
  private var isKnown = false

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    switch event {
    case .permitted(let patterns, let others):
      isKnown = true
      self.others.formUnion(others)
      for pattern in patterns {
        if pattern.hasSuffix("*") { prefixes.append(String(pattern.dropLast())) } else { exact.insert(pattern) }
      }
    case .touched(let service, let keys):
      let foreign = keys.filter { !isPermitted($0) }
      if !foreign.isEmpty { return ["\(service) has touched \(foreign)"] }
    case .rested(let rest):
      guard let keys = rest.keys else { break }
      let foreign = keys.filter { !isPermitted($0) && !others.contains($0) }
      let missing = others.subtracting(keys).sorted()
      return (foreign.isEmpty ? [] : ["there are \(foreign)"]) + (missing.isEmpty ? [] : ["\(missing) are gone"])
    default: break
    }
    return []
  }

  private func isPermitted(_ key: String) -> Bool {
    !isKnown || exact.contains(key) || prefixes.contains { key.hasPrefix($0) }
  }
}
