/// What every revision of every value has been: more than one content where somebody has written who knows none.
struct StoredContents {
  private var contents: [String: [UInt64: Set<History.Stored.Content>]] = [:]

  mutating func observe(_ event: History.Event) {
    switch event {
    case .committed(let commit): insert(commit.after, of: commit.name)
    case .edited(let name, _, let stored?): insert(stored, of: name)
    default: break
    }
  }

  /// Whether a revision has ever been this.
  func were(_ content: History.Stored.Content, under revision: UInt64, of name: String) -> Bool {
    contents[name]?[revision]?.contains(content) ?? false
  }

  /// Whether a revision has never been anything else, so that who knows the revision knows the content.
  func wereOnly(_ content: History.Stored.Content, under revision: UInt64, of name: String) -> Bool {
    contents[name]?[revision] == [content]
  }

  private mutating func insert(_ stored: History.Stored, of name: String) {
    contents[name, default: [:]][stored.revision, default: []].insert(stored.content)
  }
}
