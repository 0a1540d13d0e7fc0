import Foundation

/// The documents that a service remembers of one value: what two histories have in common is merged by it.
struct Memory: Sendable {
  struct Entry: Hashable, Sendable {
    let version: Version
    /// `nil`: it was deleted.
    let document: Data?

    /// What it takes, about.
    var bytes: Int { 64 + (document?.count ?? 0) }
  }

  static let maximumEntries = 16
  static let maximumDocumentBytes = 8_192

  /// The newest last.
  private(set) var entries: [Entry] = []
  private(set) var bytes = 0
  private var growth = Growth()

  /// How much more is remembered than before.
  struct Growth: Hashable, Sendable {
    var entries = 0
    var bytes = 0
  }

  /// What has come since this was asked last; `nil`: nothing.
  mutating func takeGrowth() -> Growth? {
    guard growth != Growth() else { return nil }
    defer { growth = Growth() }
    return growth
  }

  /// Remembers a version, and forgets the oldest of too many.
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

  /// Forgets the document that is remembered longest. Returns how many bytes that frees.
  @discardableResult
  mutating func forgetOldest() -> Int {
    guard !entries.isEmpty else { return 0 }
    let freed = entries.removeFirst().bytes
    bytes -= freed
    return freed
  }

  /// Whether a document is one that a version includes.
  func includes(_ document: Data, in lineage: Lineage) -> Bool {
    entries.contains { $0.document == document && lineage.covers($0.version) }
  }

  /// The document of a version, as far as it is remembered.
  func document(of version: Version) -> Data?? {
    entries.last { $0.version == version }?.document
  }

  /// The newest version that both lineages include.
  func newestCommon(_ first: Lineage, _ second: Lineage) -> Entry? {
    entries.filter { first.covers($0.version) && second.covers($0.version) }
      .max { $0.version.revision < $1.version.revision }
  }
}

/// The newest version of a value for which there is evidence: it was read from the server, or the server has said that
/// it was made.
///
/// Only this is ever given back to a server. A message is news, and never evidence.
struct Held: Hashable, Sendable {
  /// `nil`: nothing was stored, or nobody knows under which revision.
  private(set) var meta: Meta?
  private(set) var content = StoredValue.Content.absent
  /// How the server was, at the latest, when the version was seen last; `nil`: on another connection it was not asked.
  private(set) var sighting: Vitals?

  init() {}

  init(_ meta: Meta?, _ content: StoredValue.Content, seenWith vitals: Vitals?) {
    (self.meta, self.content, sighting) = (meta, content, vitals)
  }

  var revision: Revision { meta?.revision ?? .none }

  /// It was seen once more.
  mutating func seen(with vitals: Vitals?) {
    sighting = vitals
  }

  /// The version that is to be given back to a server that has lost it; `nil`: there is none.
  ///
  /// A meta without its document tells that there was one, and not which.
  var restorable: Meta? {
    guard let meta else { return nil }
    switch content {
    case .document: return meta.kind == .set ? meta : nil
    case .absent: return meta.kind == .deleted ? meta : nil
    case .oversized, .otherType: return nil
    }
  }
}
