import Foundation

/// The documents of earlier versions of one value, which serve as the common base when two histories are merged.
struct Memory: Sendable {
  struct Entry: Hashable, Sendable {
    let version: Version
    /// `nil` if the value was deleted.
    let document: Data?

    /// The approximate size in memory.
    var bytes: Int { 64 + (document?.count ?? 0) }
  }

  static let maximumEntries = 16
  static let maximumDocumentBytes = 8_192

  /// The entries, the newest last.
  private(set) var entries: [Entry] = []
  private(set) var bytes = 0
  private var growth = Growth()

  /// The growth of a memory, which may be negative.
  struct Growth: Equatable, Sendable {
    var entries = 0
    var bytes = 0
  }

  /// Takes the growth since the last call; `nil` if there was none.
  mutating func takeGrowth() -> Growth? {
    guard growth != Growth() else { return nil }
    defer { growth = Growth() }
    return growth
  }

  /// Remembers a version, and forgets the oldest one if there are too many.
  mutating func remember(_ meta: Meta, _ content: StoredValue.Content) {
    switch content {
    case .document(let document) where document.count <= Self.maximumDocumentBytes:
      add(Entry(version: meta.version, document: document))
    case .absent where meta.kind == .deleted: add(Entry(version: meta.version, document: nil))
    case .document, .absent, .oversized, .otherType: break
    }
  }

  private mutating func add(_ entry: Entry) {
    let before = (entries: entries.count, bytes: bytes)
    if let index = entries.lastIndex(where: { $0.version == entry.version }) {
      bytes += entry.bytes - entries[index].bytes
      entries[index] = entry
    } else {
      entries.append(entry)
      bytes += entry.bytes
      if entries.count > Self.maximumEntries { forgetOldest() }
    }
    growth.entries += entries.count - before.entries
    growth.bytes += bytes - before.bytes
  }

  /// Forgets the oldest entry. Returns how many bytes that frees.
  @discardableResult
  mutating func forgetOldest() -> Int {
    guard !entries.isEmpty else { return 0 }
    let freed = entries.removeFirst().bytes
    bytes -= freed
    return freed
  }

  /// Whether a remembered document belongs to a version that the lineage includes.
  func includes(_ document: Data, in lineage: Lineage) -> Bool {
    entries.contains { $0.document == document && lineage.covers($0.version) }
  }

  /// The document of a version; the outer `nil` if the version is not remembered.
  func document(of version: Version) -> Data?? {
    entries.last { $0.version == version }?.document
  }

  /// The newest remembered version that both lineages include.
  func newestCommon(_ first: Lineage, _ second: Lineage) -> Entry? {
    entries.filter { first.covers($0.version) && second.covers($0.version) }
      .max { $0.version.revision < $1.version.revision }
  }
}
