/// The versions that each version of each value was made from.
struct Ancestry {
  private struct Version: Hashable {
    let name: String
    let stored: RedisHistory.Stored
  }

  private var parents: [Version: Set<Version>] = [:]
  /// The versions that programs without knowledge of revisions have written, under an earlier revision.
  private var edits: Set<Version> = []
  /// The version that was stored last under each name.
  private var last: [String: Version] = [:]

  mutating func observe(_ event: RedisHistory.Event) {
    switch event {
    case .committed(let commit):
      let version = Version(name: commit.name, stored: commit.after)
      last[commit.name] = version
      guard commit.cause != .restoration else { break }
      for parent in [commit.before, commit.includes].compactMap(\.self) where parent != commit.after {
        parents[version, default: []].insert(Version(name: commit.name, stored: parent))
      }
    case .edited(let name, _, let stored?):
      let version = Version(name: name, stored: stored)
      edits.insert(version)
      if let last = last.updateValue(version, forKey: name), last != version {
        parents[version, default: []].insert(last)
      }
    default: break
    }
  }

  /// Whether a version was made from another one, or is the same. An edit without a revision may be replaced by any
  /// version.
  func isMade(_ stored: RedisHistory.Stored, of ancestor: RedisHistory.Stored, name: String) -> Bool {
    let sought = Version(name: name, stored: ancestor)
    if edits.contains(sought) { return true }
    var seen: Set<Version> = []
    var next = [Version(name: name, stored: stored)]
    while let version = next.popLast() {
      let isGone = ancestor.content == .absent && ancestor.revision > 0 && version.stored.revision == ancestor.revision
      if version == sought || isGone { return true }
      guard seen.insert(version).inserted else { continue }
      next += parents[version] ?? []
      // A value that has expired or was evicted was stored before under the same revision.
      guard version.stored.content == .absent, version.stored.revision > 0 else { continue }
      next += parents.keys.filter { $0.name == name && $0.stored.revision == version.stored.revision }
    }
    return false
  }
}
