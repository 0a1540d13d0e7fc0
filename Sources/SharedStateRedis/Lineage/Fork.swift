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
    let verified: Data

    init(base: Data?, stored: Data, verified: Data) {
      (self.base, self.stored, self.verified) = (base, stored, verified)
    }
  }

  /// The result of reconciling a fork.
  struct Outcome: Hashable, Sendable {
    let content: StoredValue.Content
    /// The lineage of the verified version, if the result counts as including it, so that no service merges it again.
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
  init(stored: StoredValue, verified: VerifiedVersion, memory: Memory, isMerged: Bool) {
    guard isMerged, let document = stored.document, let verifiedDocument = verified.content.document,
      let base = Self.base(stored.meta?.lineage, verified.meta?.lineage, memory)
    else {
      self = .whole(Outcome(content: stored.content, included: isMerged ? nil : verified.meta?.lineage))
      return
    }
    self = .merge(Documents(base: base, stored: document, verified: verifiedDocument))
  }

  /// The common base of both histories, which may be none; `nil` if it is forgotten.
  private static func base(_ stored: Lineage?, _ verified: Lineage?, _ memory: Memory) -> Data?? {
    guard let stored, let verified else { return .some(nil) }
    let common = stored.commonRevision(with: verified)
    if common == .none { return .some(nil) }
    guard let entry = memory.newestCommon(stored, verified), entry.version.revision == common else { return nil }
    return .some(entry.document)
  }
}
