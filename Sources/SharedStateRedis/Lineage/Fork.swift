import Foundation

/// How two histories of one value are reconciled: the one that a server has lost, and the one written there since.
enum Fork {
  /// One content is stored whole.
  case whole(Outcome)
  /// Both histories have a document, and a common base is known.
  case merge(Documents)
  /// Both have a document, and the server may have kept the one of this version, which is their common base.
  case ask(Version)

  /// The documents of two histories, to be merged where the type is known.
  struct Documents: Hashable, Sendable {
    /// The common base of both; `nil` if they have none.
    let base: Data?
    /// The stored document. It wins each conflict over one leaf, because the server accepted it before any service
    /// restored the other.
    let stored: Data
    /// The document that the server has lost.
    let verified: Data
    /// Whether the histories have parted at the base. Otherwise they have later versions in common.
    var isBaseExact = true
  }

  /// The result of reconciling a fork.
  struct Outcome: Hashable, Sendable {
    let content: StoredValue.Content
    /// The lineage of the verified version, if the result counts as including it, so that no service merges it again.
    let included: Lineage?
    /// `nil`: nothing.
    let loss: HistoryLoss?
  }

  /// The result of merging documents, or of the failure to merge them.
  struct Merged: Hashable, Sendable {
    let documents: Documents
    let outcome: Outcome
  }

  /// - Parameters:
  ///   - isMerged: Whether the documents are merged. Otherwise the stored one wins whole.
  ///   - mayAsk: Whether the server can be asked for the base.
  ///
  /// A merge requires a common ancestor. Best is the version at which the histories parted. A merge with an older one is
  /// right as well where only one side has changed a member since, and where both have changed it to the same value; a
  /// member that merges itself, such as a counter, is a leaf then. If no common ancestor is known, the stored document
  /// is kept whole, and a service that knows one can still merge. A deletion is not merged, because half of a document
  /// is of no use.
  init(stored: StoredValue, verified: VerifiedVersion, memory: Memory, isMerged: Bool, mayAsk: Bool) {
    let whole = Outcome(
      content: stored.content,
      included: isMerged ? nil : verified.meta?.lineage,
      loss: stored.content == verified.content ? nil : .whole
    )
    guard isMerged, let document = stored.document, let verifiedDocument = verified.content.document else {
      self = .whole(whole)
      return
    }
    func merge(_ base: Data?, isExact: Bool = true) -> Self {
      .merge(Documents(base: base, stored: document, verified: verifiedDocument, isBaseExact: isExact))
    }
    guard let lineage = stored.meta?.lineage, let verifiedLineage = verified.meta?.lineage,
      let common = lineage.commonVersion(with: verifiedLineage)
    else {
      self = merge(nil)
      return
    }
    if let base = memory.document(of: common) {
      self = merge(base)
    } else if mayAsk {
      self = .ask(common)
    } else if let ancestor = memory.newestCommon(lineage, verifiedLineage) {
      self = merge(ancestor.document, isExact: false)
    } else {
      self = .whole(whole)
    }
  }
}

/// What a merge gives up of the history that the server has lost.
enum HistoryLoss: Hashable, Sendable {
  /// All its changes since the histories parted.
  case whole
  /// Its changes in so many places, which the stored document has changed to something else.
  case places(Int)
}
