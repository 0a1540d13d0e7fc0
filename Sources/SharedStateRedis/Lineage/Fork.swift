import Foundation

/// How two histories of one value are reconciled: the one that a server has lost, and the one written there since.
enum Fork {
  /// One content is stored whole.
  case whole(Outcome)
  /// Both histories have a document, and their common base is known.
  case merge(Documents)

  /// The documents of two histories, to be merged where the type is known.
  struct Documents: Hashable, Sendable {
    /// The common base of both; `nil` if they have none.
    let base: Data?
    /// The stored document. It wins each conflict over one leaf, because the server accepted it before any service
    /// restored the other.
    let stored: Data
    /// The document that the server has lost.
    let held: Data

    init(base: Data?, stored: Data, held: Data) {
      (self.base, self.stored, self.held) = (base, stored, held)
    }
  }

  /// The result of reconciling a fork.
  struct Outcome: Hashable, Sendable {
    let content: StoredValue.Content
    /// The lineage of the held version, if the result counts as including it, so that no service merges it again.
    let included: Lineage?
  }

  /// The result of merging documents, or of the failure to merge them.
  struct Merged: Hashable, Sendable {
    let documents: Documents
    let outcome: Outcome
  }

  /// - Parameter isMerged: Whether the documents are merged. Otherwise the stored one wins whole.
  ///
  /// A merge requires that the common base is remembered. If it is not, the stored document is kept whole, and a
  /// service that remembers the base can still merge. A deletion is not merged, because half of a document is of no
  /// use.
  init(stored: StoredValue, held: Held, memory: Memory, isMerged: Bool) {
    guard isMerged, let document = stored.document, let heldDocument = held.content.document,
      let base = Self.base(stored.meta?.lineage, held.meta?.lineage, memory)
    else {
      self = .whole(Outcome(content: stored.content, included: isMerged ? nil : held.meta?.lineage))
      return
    }
    self = .merge(Documents(base: base, stored: document, held: heldDocument))
  }

  /// The common base of both histories, which may be none; `nil` if it is forgotten.
  private static func base(_ stored: Lineage?, _ held: Lineage?, _ memory: Memory) -> Data?? {
    guard let stored, let held else { return .some(nil) }
    let common = stored.commonRevision(with: held)
    if common == .none { return .some(nil) }
    guard let entry = memory.newestCommon(stored, held), entry.version.revision == common else { return nil }
    return .some(entry.document)
  }
}
