import Foundation
import SharedState

/// What becomes of two histories of one value: of what a server has lost, and of what was written there since.
struct Fork: Sendable {
  /// What is to be stored.
  let content: StoredValue.Content
  /// Whether that includes what is held, as far as the key's policy says, so that nobody need merge it again.
  let isInclusive: Bool

  /// - Parameter isMerged: Whether what both have is put together; otherwise what is stored wins, whole.
  ///
  /// Of one leaf what is stored wins: that is what the server has accepted while nobody knew better. What both are made
  /// of has to be remembered; where it is not, what is stored is kept whole, and a service that remembers it can still
  /// merge. A deletion is not merged: half of a document is of no use to anybody.
  init(stored: StoredValue, held: Held, memory: Memory, isMerged: Bool) {
    let isDeletion = stored.document == nil || held.content.document == nil
    guard isMerged, !isDeletion, let mine = stored.document, let theirs = held.content.document,
      let base = Self.base(stored.meta?.lineage, held.meta?.lineage, memory),
      let merged = try? ThreeWayMerge.merge(base: base, mine: mine, theirs: theirs)
    else {
      (content, isInclusive) = (stored.content, !isMerged)
      return
    }
    (content, isInclusive) = (.document(merged.document), true)
  }

  /// What both histories are made of; `nil`: it is forgotten.
  private static func base(_ stored: Lineage?, _ held: Lineage?, _ memory: Memory) -> Data? {
    let nothing = Data("{}".utf8)
    guard let stored, let held else { return nothing }
    let common = stored.commonRevision(with: held)
    if common == .none { return nothing }
    guard let entry = memory.newestCommon(stored, held), entry.version.revision == common else { return nil }
    return entry.document ?? nothing
  }
}
