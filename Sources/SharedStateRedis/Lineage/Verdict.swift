import Foundation

/// How a service reacts to a stored value, given the verified version.
///
/// Checked by a model of failovers, evictions, forgeries and external edits: see the article AcknowledgedSurvives.
enum Verdict: Equatable, Sendable {
  /// The stored value counts, and is the verified version from now on.
  case follow
  /// The stored value counts: a message has announced a version that the server never had.
  case disbelieve
  /// The stored value is shown. The verified version stays.
  case show
  /// Nothing is done. Commits may be based on the verified version.
  case leave
  /// The value was written or deleted without a revision: it is adopted.
  case adopt
  /// The server has lost the verified version: it is restored.
  case restore
  /// The server has lost the verified version, and a client has written since: both are merged.
  case merge
  /// Only the meta of the stored version is left anywhere: the verified version is written back with a higher revision.
  case rewrite
  /// Another service may repair the value: it is judged again after a grace period.
  case wait(Grace)
}

/// How long a service waits for others to repair a value.
enum Grace: Equatable, Sendable, CaseIterable {
  /// As long as other services take to read the value.
  case moment
  /// As long as every service takes to compare everything.
  case antiEntropy
}

/// The evidence for a verdict.
struct Evidence: Sendable {
  let stored: StoredValue
  let verified: VerifiedVersion
  let memory: Memory
  /// The server's vitals after the stored value was found, or later ones; `nil` if the server does not report them.
  let vitals: Vitals?
  /// Whether nothing has shown before that the server of this connection has, or had, the verified version.
  let isFirst: Bool
  /// The grace period that has ended without a change.
  var grace: Grace?

  private var sighting: Vitals? { verified.sighting }

  /// Whether the server is known to have all data that was stored when the version was seen.
  private var isContinued: Bool {
    guard let vitals, let sighting else { return true }
    // A server that does not reveal its vitals has another era on each connection.
    return vitals.evictions == nil || vitals.continues(sighting)
  }

  /// Whether the server has evicted nothing since the version was seen. A server that does not report its evictions is
  /// trusted.
  private var isUnmoved: Bool {
    guard let vitals, let sighting else { return true }
    return isContinued && vitals.evictions == sighting.evictions
  }

  /// Whether a message alone has shown the verified version, and the server is known to have lost and evicted nothing
  /// since, so that it would have that version if the message were true.
  private var isUnfounded: Bool {
    guard verified.isOnlyAnnounced, sighting != nil, vitals?.evictions != nil else { return false }
    return isUnmoved
  }

  var verdict: Verdict {
    switch stored.content {
    case .oversized, .otherType: return .show
    case .document, .absent: break
    }
    guard verified.meta != nil else { return verdictOfNewcomer }
    guard let meta = stored.meta else { return verdictWithoutMeta }
    return verdict(about: meta)
  }

  /// The verdict if no version is verified.
  private var verdictOfNewcomer: Verdict {
    if isKnownOtherwise { return .adopt }
    if stored.meta != nil { return .follow }
    switch stored.content {
    case .document: return mayBeKnownToOthers ? .wait(.moment) : .adopt
    // A commit based on nothing would get in the way of a service that restores an evicted version.
    case .absent, .oversized, .otherType: return mayBeKnownToOthers ? .wait(.moment) : .follow
    }
  }

  /// The verdict if a version is verified, and a document without a meta, or nothing at all, is stored.
  private var verdictWithoutMeta: Verdict {
    switch stored.content {
    case .absent, .oversized, .otherType:
      // It has expired, or was evicted before this service saw it.
      guard verified.restorable != nil else { return .leave }
      // A FLUSHALL counts as a deletion, even of versions written after the verified one.
      if !isFirst, isUnmoved { return .adopt }
      // It was never stored, or deleted, or has expired together with its meta.
      return isUnfounded ? .follow : .restore
    case .document(let document):
      if isOwn(document) { return .restore }
      if isUnmoved { return .adopt }
      guard grace == .moment else { return .wait(.moment) }
      return isContinued ? .adopt : .merge
    }
  }

  private func verdict(about meta: Meta) -> Verdict {
    guard let known = verified.meta else { return .follow }
    let kinship = Kinship(of: meta, to: known)
    if isUnfounded, kinship == .ancestor { return isKnownOtherwise ? .adopt : .disbelieve }
    if stored.isGone { return verdictOfGone(meta, kinship) }
    switch kinship {
    case .same:
      guard stored.content != verified.content, !isStoredAgain else { return .follow }
      return isUnmoved || grace == .moment ? .adopt : .wait(.moment)
    case .descendant:
      return isKnownOtherwise ? .adopt : .follow
    case .ancestor:
      // The older document left on the server was edited.
      if isKnownOtherwise { return .merge }
      return verified.restorable == nil ? .adopt : .restore
    case .fork:
      return verified.restorable == nil ? .follow : .merge
    }
  }

  /// The verdict if a meta describes a value that is missing.
  private func verdictOfGone(_ meta: Meta, _ kinship: Kinship) -> Verdict {
    guard let lost = verified.restorable else {
      return kinship == .ancestor ? .leave : .follow
    }
    if kinship == .ancestor { return .restore }
    if isUnmoved, kinship != .fork {
      // It has expired, or a client has deleted it.
      return meta.expiry == 0 ? .adopt : .follow
    }
    if kinship == .same { return lost.kind == .set ? .restore : .follow }
    return grace == .antiEntropy ? .rewrite : .wait(.antiEntropy)
  }

  /// Whether the missing document is stored again, unchanged.
  private var isStoredAgain: Bool {
    guard let meta = stored.meta, let document = stored.document else { return false }
    return memory.document(of: meta.version) == document
  }

  /// Whether the remembered document of the stored version differs from the stored one: a client has edited it.
  private var isKnownOtherwise: Bool {
    guard let meta = stored.meta, let known = memory.document(of: meta.version) else { return false }
    return stored.document.map { $0 != known } ?? false
  }

  /// Whether a document is the verified one, or one from its history.
  private func isOwn(_ document: Data) -> Bool {
    guard let meta = verified.meta else { return false }
    return verified.content == .document(document) || memory.includes(document, in: meta.lineage)
  }

  /// Whether other services may know a version that this one does not.
  private var mayBeKnownToOthers: Bool {
    grace != .moment && vitals?.evictions.map { $0 > 0 } ?? false
  }
}
