import Foundation

/// What a service does about what it has found stored, given what it holds.
///
/// Checked by a model of failovers, evictions, forgeries and foreign edits: see the article AcknowledgedSurvives.
enum Verdict: Hashable, Sendable {
  /// It counts, and is what is held from now on.
  case follow
  /// It is shown, and what is held stays what is held.
  case show
  /// Nothing is to be done: what is held may be committed upon.
  case leave
  /// Somebody has written or deleted it without a revision: it gets one.
  case adopt
  /// The server has lost what is held: it is given back.
  case restore
  /// The server has lost what is held, and somebody has written since: both are merged.
  case merge
  /// Everybody has lost what is stored but its meta: what is held is given back above it.
  case giveBack
  /// Somebody else may know better: it is looked at again after a while.
  case wait(Grace)
}

/// How long a service waits for those who know better.
package enum Grace: Hashable, Sendable, CaseIterable {
  /// As long as others take to look.
  case moment
  /// As long as everybody takes to look at everything.
  case antiEntropy
}

/// What there is to judge by.
struct Findings: Sendable {
  let stored: StoredValue
  let held: Held
  let memory: Memory
  /// How the server is, at the earliest, after this was found.
  let vitals: Vitals?
  /// How it was when a message told of what has turned out to be stored; `nil`: no message has.
  let told: Vitals?
  /// Whether a message has told of this version with another document.
  let isEdited: Bool
  /// Whether this is the first look on a connection.
  let isFirst: Bool
  /// What was waited for in vain.
  var grace: Grace?

  private var sighting: Vitals? { told ?? held.sighting }

  /// Whether the server is the one on which it was seen.
  private var isSameEra: Bool {
    guard let vitals, let sighting else { return true }
    // A server that does not tell names another era on each connection.
    return vitals.evictions == nil || vitals.era == sighting.era
  }

  /// Whether the server has not thrown anything away since what is held was seen. One that does not tell is believed.
  private var isUnmoved: Bool {
    guard let vitals, let sighting else { return true }
    return isSameEra && vitals.evictions == sighting.evictions
  }

  var verdict: Verdict {
    switch stored.content {
    case .oversized, .otherType: return .show
    case .document, .absent: break
    }
    guard held.meta != nil else { return verdictOfNewcomer }
    guard let meta = stored.meta else { return verdictWithoutMeta }
    return verdict(about: meta)
  }

  /// Nothing is held.
  private var verdictOfNewcomer: Verdict {
    if isEdited || isKnownOtherwise { return .adopt }
    if let meta = stored.meta {
      // It was there when a message told of it.
      return stored.isGone && meta.expiry == 0 && told != nil && isUnmoved ? .adopt : .follow
    }
    switch stored.content {
    case .document: return mayBeKnownToOthers ? .wait(.moment) : .adopt
    // What is made of nothing is in the way of those who give back what was evicted.
    case .absent, .oversized, .otherType: return mayBeKnownToOthers ? .wait(.moment) : .follow
    }
  }

  /// Something is held, and stored is something without a meta, or nothing at all.
  private var verdictWithoutMeta: Verdict {
    switch stored.content {
    case .absent, .oversized, .otherType:
      // It has expired, or was thrown away before anybody here had seen it.
      guard held.restorable != nil else { return .leave }
      // A FLUSHALL deletes, also what others have written since this was held.
      return !isFirst && isUnmoved ? .adopt : .restore
    case .document(let document):
      if isOwn(document) { return .restore }
      if isUnmoved { return .adopt }
      guard grace == .moment else { return .wait(.moment) }
      return isSameEra ? .adopt : .merge
    }
  }

  private func verdict(about meta: Meta) -> Verdict {
    guard let held = held.meta else { return .follow }
    let kinship = Kinship(of: meta, to: held)
    if stored.isGone { return verdictOfGone(meta, kinship) }
    switch kinship {
    case .same:
      guard stored.content != self.held.content, !isGivenBack else { return .follow }
      return isUnmoved || grace == .moment ? .adopt : .wait(.moment)
    case .descendant:
      return isEdited || isKnownOtherwise ? .adopt : .follow
    case .ancestor:
      // An edit of what the server has left.
      if isKnownOtherwise { return .merge }
      return self.held.restorable == nil ? .adopt : .restore
    case .fork:
      return self.held.restorable == nil ? .follow : .merge
    }
  }

  /// A meta says that there is a value, and there is none.
  private func verdictOfGone(_ meta: Meta, _ kinship: Kinship) -> Verdict {
    guard let lost = held.restorable else {
      if kinship == .ancestor { return .leave }
      return meta.expiry == 0 && told != nil && isUnmoved ? .adopt : .follow
    }
    if kinship == .ancestor { return .restore }
    if isUnmoved, kinship != .fork {
      // It has expired by itself, or somebody has deleted it.
      return meta.expiry == 0 ? .adopt : .follow
    }
    if kinship == .same { return lost.kind == .set ? .restore : .follow }
    return grace == .antiEntropy ? .giveBack : .wait(.antiEntropy)
  }

  /// Whether what was found gone is there again, as it was.
  private var isGivenBack: Bool {
    guard let meta = stored.meta, let document = stored.document else { return false }
    return memory.document(of: meta.version) == document
  }

  /// Whether the document of the stored version is known, and is another one: then somebody has edited it.
  private var isKnownOtherwise: Bool {
    guard let meta = stored.meta, let known = memory.document(of: meta.version) else { return false }
    return stored.document.map { $0 != known } ?? false
  }

  /// Whether a document is, or was, what is held.
  private func isOwn(_ document: Data) -> Bool {
    guard let meta = held.meta else { return false }
    return held.content == .document(document) || memory.includes(document, in: meta.lineage)
  }

  /// Whether others may know what this service does not.
  private var mayBeKnownToOthers: Bool {
    grace != .moment && vitals?.evictions.map { $0 > 0 } ?? false
  }
}

/// What tells whether a server may have lost something: which reign it is in, and how many keys it has thrown away.
package struct Vitals: Hashable, Sendable {
  package var era: Era
  /// How many keys the server has evicted; `nil`: it does not tell.
  package var evictions: UInt64?

  package init(era: Era = Era(0), evictions: UInt64? = nil) {
    self.era = era
    self.evictions = evictions
  }

  /// The later one of two that one server may have told.
  func later(_ other: Vitals?) -> Vitals {
    guard let other, other.era == era, let count = other.evictions, let evictions, count > evictions else {
      return self
    }
    return other
  }
}
