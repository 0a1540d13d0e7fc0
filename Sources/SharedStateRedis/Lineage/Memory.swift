import Foundation

/// The documents of earlier versions of one value, which serve as the common base when two histories are merged.
///
/// The last versions are all there. The older a version is, the fewer of its neighbours are: its distance to the next
/// one is at most its age, so that a few dozen of them reach back over millions of changes. The versions at which the
/// history has left a line for a newer one stay. Their server may be gone, and another one goes on from there.
struct Memory: Sendable {
  struct Entry: Hashable, Sendable {
    let version: Version
    /// `nil` if the value was deleted.
    let document: Data?
    /// Counts the remembered versions.
    let number: UInt64

    /// The approximate size in memory.
    var bytes: Int { 64 + (document?.count ?? 0) }
  }

  /// How many entries there are at most, before the older ones are thinned out.
  static let maximumEntries = 64
  /// How many of the last versions are all kept.
  static let denseEntries: UInt64 = 16

  /// The entries, the newest last.
  private(set) var entries: [Entry] = []
  private(set) var bytes = 0
  /// The lineage of the version that was remembered last.
  private var lineage = Lineage(unknownAt: .none)
  private var nextNumber: UInt64 = 0
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

  /// Remembers a version, from which the next ones are made.
  mutating func remember(_ meta: Meta, _ content: StoredValue.Content) {
    lineage = meta.lineage
    switch content {
    case .document(let document): remember(document, of: meta.version)
    case .absent where meta.kind == .deleted: remember(nil, of: meta.version)
    case .absent, .oversized, .otherType: break
    }
  }

  /// Remembers the document of a version; `nil` if the value was deleted.
  mutating func remember(_ document: Data?, of version: Version) {
    let entry = Entry(version: version, document: document, number: nextNumber)
    // It would displace everything else, and itself.
    guard entry.bytes <= Memories.maximumBytes else { return }
    nextNumber += 1
    let before = (entries: entries.count, bytes: bytes)
    if let index = entries.lastIndex(where: { $0.version == version }) {
      bytes += entry.bytes - entries[index].bytes
      entries[index] = Entry(version: version, document: document, number: entries[index].number)
    } else {
      entries.append(entry)
      bytes += entry.bytes
      if entries.count > Self.maximumEntries { thinOut() }
    }
    growth.entries += entries.count - before.entries
    growth.bytes += bytes - before.bytes
  }

  /// Keeps the last versions, those at which the history has left a line, and as few of the others as possible if each
  /// is at most twice as old as the next newer one. The first version stays.
  private mutating func thinOut() {
    var keptAge: UInt64 = 0
    let kept = entries.indices.reversed().filter { index in
      let age = nextNumber - entries[index].number
      let isDispensable =
        age > Self.denseEntries && index > 0 && nextNumber - entries[index - 1].number <= 2 * keptAge
        && !lineage.leaves(entries[index].version)
      if !isDispensable { keptAge = age }
      return !isDispensable
    }
    entries = kept.reversed().map { entries[$0] }
    bytes = entries.reduce(0) { $0 + $1.bytes }
  }

  /// Forgets the oldest entry that the history has not left a line at, or else the oldest one. Returns how many bytes
  /// that frees.
  @discardableResult
  mutating func forgetOldest() -> Int {
    guard !entries.isEmpty else { return 0 }
    let freed = entries.remove(at: entries.firstIndex { !lineage.leaves($0.version) } ?? 0).bytes
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

  /// The newest remembered version that both lineages include for certain.
  func newestCommon(_ first: Lineage, _ second: Lineage) -> Entry? {
    entries.filter { first.names($0.version) && second.names($0.version) }
      .max { $0.version.revision < $1.version.revision }
  }
}
