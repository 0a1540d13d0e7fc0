/// The contents that each revision of each value has had. A revision has several if a program that knows no revisions
/// has written the value.
struct StoredContents {
  private var contents: [String: [UInt64: [RedisHistory.Stored.Content]]] = [:]
  /// The contents that were stored without any revision, each with the newest revision of the value until then.
  private var unrevised: [String: [RedisHistory.Stored.Content: UInt64]] = [:]

  mutating func observe(_ event: RedisHistory.Event) {
    switch event {
    case .committed(let commit): insert(commit.after, of: commit.name)
    case .edited(let name, _, let stored?):
      insert(stored, of: name)
      if stored.revision == 0 { unrevised[name, default: [:]][stored.content] = contents[name]?.keys.max() }
    default: break
    }
  }

  /// Whether a revision has ever had this content. Services know a content without a revision by an earlier revision.
  func were(_ content: RedisHistory.Stored.Content, under revision: UInt64, of name: String) -> Bool {
    were(under: revision...revision, of: name) { $0 == content }
  }

  /// Whether one of these revisions has ever had a content that satisfies a condition.
  func were(
    under revisions: ClosedRange<UInt64>,
    of name: String,
    where isMeant: (RedisHistory.Stored.Content) -> Bool
  ) -> Bool {
    if unrevised[name]?.contains(where: { revisions.lowerBound <= $0.value && isMeant($0.key) }) ?? false {
      return true
    }
    return contents[name]?.contains { revisions.contains($0.key) && $0.value.contains(where: isMeant) } ?? false
  }

  /// Whether a revision has never had another content, so that a service that knows the revision knows the content.
  func wereOnly(_ content: RedisHistory.Stored.Content, under revision: UInt64, of name: String) -> Bool {
    contents[name]?[revision] == [content]
  }

  mutating func insert(_ stored: RedisHistory.Stored, of name: String) {
    guard contents[name]?[stored.revision]?.contains(stored.content) != true else { return }
    contents[name, default: [:]][stored.revision, default: []].append(stored.content)
  }
}
