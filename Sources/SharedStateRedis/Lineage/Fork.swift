import Foundation

/// What becomes of two histories of one value: of what a server has lost, and of what was written there since.
enum Fork {
  /// What is to be stored.
  case whole(Outcome)
  /// Both histories have a document, and it is known what these are made of.
  case merge(Documents)

  /// The documents of two histories, to be put together where the type is known.
  struct Documents: Hashable, Sendable {
    /// What both are made of; `nil`: they have nothing in common.
    let base: Data?
    /// What is stored. Of one leaf it wins: that is what the server has accepted while nobody knew better.
    let stored: Data
    /// What the server has lost.
    let held: Data

    init(base: Data?, stored: Data, held: Data) {
      (self.base, self.stored, self.held) = (base, stored, held)
    }
  }

  /// What a fork has come to.
  struct Outcome: Hashable, Sendable {
    let content: StoredValue.Content
    /// What it includes of what was held, as far as the key's policy says, so that nobody need merge it again.
    let included: Lineage?
  }

  /// What has come of documents that were put together, or did not go together.
  struct Merged: Hashable, Sendable {
    let documents: Documents
    let outcome: Outcome
  }

  /// - Parameter isMerged: Whether what both have is put together; otherwise what is stored wins, whole.
  ///
  /// What both are made of has to be remembered; where it is not, what is stored is kept whole, and a service that
  /// remembers it can still merge. A deletion is not merged: half of a document is of no use to anybody.
  init(stored: StoredValue, held: Held, memory: Memory, isMerged: Bool) {
    guard isMerged, let document = stored.document, let heldDocument = held.content.document,
      let base = Self.base(stored.meta?.lineage, held.meta?.lineage, memory)
    else {
      self = .whole(Outcome(content: stored.content, included: isMerged ? nil : held.meta?.lineage))
      return
    }
    self = .merge(Documents(base: base, stored: document, held: heldDocument))
  }

  /// What both histories are made of, which may be nothing; `nil`: it is forgotten.
  private static func base(_ stored: Lineage?, _ held: Lineage?, _ memory: Memory) -> Data?? {
    guard let stored, let held else { return .some(nil) }
    let common = stored.commonRevision(with: held)
    if common == .none { return .some(nil) }
    guard let entry = memory.newestCommon(stored, held), entry.version.revision == common else { return nil }
    return .some(entry.document)
  }
}
