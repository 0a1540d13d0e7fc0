import Foundation

/// What the server says, and what came of showing it.
extension Replica {
  /// A change was announced.
  package mutating func announced(_ message: ChangeMessage) -> [Action] {
    let isMissed = message.parent > floor
    floor = max(floor, message.revision)
    if message.revision == confirmed.revision, !isVerified || repair == .restore { return restored() }
    let isGivenBack = isEvictedUnseen && message.revision == confirmed.revision
    guard message.revision > confirmed.revision || isGivenBack else { return [] }
    var actions: [Action] = []
    if isVerified, isMissed {
      // What is missing is older than this message, but others may have been lost as well.
      actions += [.report(.missedMessage), .read]
    } else if isGivenBack {
      // Or its first message has come later than the answer that it was evicted.
      actions.append(.read)
    } else if isVerified, message.parent < confirmed.revision {
      actions.append(.report(.lostHistory(confirmed: confirmed.revision, stored: message.parent)))
    }
    let kind: Meta.Kind = message.content == .deleted ? .deleted : .set
    let meta = Meta(
      revision: message.revision,
      parent: message.parent,
      kind: kind,
      expiry: kind == .set ? expectedExpiry(of: message.revision) : 0,
      writer: message.writer
    )
    switch message.content {
    case .document(let document):
      actions += confirm(.document(document), message.revision, meta)
      isMetaCertain = isExpiryCertain && message.writer == policy.writer
    case .deleted:
      actions += confirm(.absent, message.revision, meta)
    case .reference:
      // Most likely the echo of our own commit: wait for its reply, which tells.
      guard isCommitUnderWay else { return actions + [.read] }
      announcedByReference = max(announcedByReference, message.revision)
      return actions
    }
    return actions + advance()
  }

  /// Somebody else was faster to restore what the server had lost.
  private mutating func restored() -> [Action] {
    if repair == .restore { repair = nil }
    left = nil
    isMetaCertain = false
    // What was asked before the restoring may be answered after its message.
    for index in reads.indices { reads[index].confirmed = .none }
    inFlight?.known = .none
    return advance()
  }

  /// The document that is stored, without its meta, since somebody has written it.
  func compared(with document: Data?) -> [Action] {
    // An absent key may be of another type.
    let isKnown = document != nil && document == confirmed.content.document
    return isKnown && isMetaCertain ? [] : [.read]
  }

  /// What is stored, as the answer to a read with this number.
  package mutating func stored(_ stored: StoredValue, read number: UInt64) -> [Action] {
    var known = Revision.none
    while let read = reads.first, read.number <= number {
      known = read.confirmed
      reads.removeFirst()
    }
    // Of two answers that overtook each other either may be the newer one.
    let isOvertaken = number < answeredRead && State(revision: stored.revision, content: stored.content) != confirmed
    answeredRead = max(answeredRead, number)
    let isFirst = !isVerified
    if phase == .reading { phase = .live }
    isVerified = true
    let actions = isOvertaken ? [.read] : look(at: stored, known: known, isFirst: isFirst)
    if let verification, verification.read <= number {
      self.verification = nil
      if State(revision: stored.revision, content: stored.content) == verification.state {
        finished += verification.updates
      } else {
        updates = verification.updates + updates
      }
    }
    // Whoever was away has not counted the time.
    let isExpiring = isFirst && policy.timeToLive > 0 && stored.content != .absent
    return actions + (isExpiring ? [.readLater(milliseconds: policy.timeToLive)] : []) + advance()
  }

  /// An attempt to show a state has ended.
  package mutating func delivered(_ delivery: Delivery, outcome: DeliveryOutcome) -> [Action] {
    if showing == delivery.sequence { showing = nil }
    if outcome == .shown {
      baseRevision = delivery.state.revision
      base = if case .document(let document) = delivery.state.content { .stored(document) } else { .defaultValue }
    }
    guard delivery.state == confirmed else { return advance() }
    switch outcome {
    case .shown, .outdated: sight = .reflected
    case .superseded: sight = .blocked(stamp: delivery.stamp)
    case .unreadable(let error):
      sight = .unreadable(error)
      hasLoadStatus = true
    }
    return advance()
  }

  // MARK: -

  /// Compares what is stored with what was known.
  ///
  /// - Parameters:
  ///   - known: What the server had confirmed before it was asked.
  ///   - isFirst: Whether this is the first answer of a connection, so that it may be another server by now.
  ///   - isCommitting: Whether it is the answer to a commit of ours, which is about to be tried again.
  mutating func look(
    at stored: StoredValue,
    known: Revision,
    isFirst: Bool = false,
    isCommitting: Bool = false
  ) -> [Action] {
    let revision = stored.revision
    floor = max(floor, revision)
    if revision > confirmed.revision {
      let isFork = stored.meta.map { $0.parent < known } ?? false
      let report: [Action] = isFork ? [.report(.lostHistory(confirmed: known, stored: revision))] : []
      return report + confirm(stored.content, revision, stored.meta)
    }
    if revision == confirmed.revision {
      left = nil
      guard stored.content != confirmed.content || unreadable != nil else {
        if repair == .restore { repair = nil }
        (meta, isMetaCertain) = (stored.meta, true)
        // It may have been given a revision, and lost it.
        if inFlight == nil, !isAdoptedUnknown { adoptUnrevised() }
        return []
      }
      // What there was to adopt is not there any more.
      if stored.content != confirmed.content { repair = nil }
      return lookAtEdit(stored)
    }
    // An older state was overtaken by a message, or is all that the server has left.
    guard revision < known else { return [] }
    // Nothing was there, and nothing is: the commit itself gives that an end. A tombstone of our own would be in its way.
    let isExpired = meta.map { $0.kind == .set && $0.expiry != 0 } ?? false
    let isNothing = stored == StoredValue(meta: nil, content: .absent) && confirmed.content == .absent
    if isNothing, isCommitting || isExpired || isEvictedUnseen {
      // What has been announced since is newer than this answer, or is gone as well.
      guard confirmed.revision <= known else { return [.read] }
      left = revision
      return []
    }
    // What was asked before the restoring is answered before it, and is no deletion either.
    if case .repair(.restore)? = inFlight?.purpose { return [] }
    // What is known already, another answer says again.
    let isReported = repair == .restore || stored.content == confirmed.content
    let report: [Action] = isReported ? [] : [.report(.lostHistory(confirmed: confirmed.revision, stored: revision))]
    // A loss that is about to be healed is no deletion before our eyes, whatever else was asked meanwhile.
    let isDeletion = !isFirst && stored.meta == nil && repair != .restore && !circumstances.evicts
    repair = nil
    if revision == .none && stored.content != .absent || isDeletion {
      // Somebody has written since, or has deleted everything: that counts, and gets a revision.
      return report + follow(stored)
    }
    if policy.dataLoss == .adoptServer || !circumstances.mayRestore || isEvictedUnseen {
      // Somebody has deleted there what had this revision.
      if stored.isDeletedByHand, !isEvicted(stored), policy.detectsForeignEdits { repair = .adopt(revision) }
      return report + confirm(stored.content, revision, stored.meta)
    }
    if !isRestorable {
      // Nobody has what that was. What the server has left gets a revision above it.
      return report + follow(stored)
    }
    repair = .restore
    return report
  }

  /// What the server has left counts, and is to get a revision above the confirmed one.
  private mutating func follow(_ stored: StoredValue) -> [Action] {
    let actions = confirm(stored.content, confirmed.revision, stored.meta)
    left = stored.revision
    if case .otherType = stored.content { return actions }
    repair = .adopt(stored.revision)
    return actions
  }

  /// Whether the server has thrown away what is confirmed, and nobody here has seen it. Who has gives it back.
  private var isEvictedUnseen: Bool {
    circumstances.evicts && StoredValue(meta: meta, content: confirmed.content).isDeletedByHand
  }

  /// Whether the server has thrown this away, and whoever has it gives it back.
  func isEvicted(_ stored: StoredValue) -> Bool {
    stored.isDeletedByHand && circumstances.evicts && policy.dataLoss == .reseed
  }

  /// Whether what is confirmed can be given back: what is about to be adopted never had that revision.
  private var isRestorable: Bool {
    if case .otherType = confirmed.content { return false }
    return meta?.revision ?? .none == confirmed.revision
  }

  /// Other bytes under the same revision were written by somebody who does not know revisions.
  private mutating func lookAtEdit(_ stored: StoredValue) -> [Action] {
    if isEvicted(stored), case .document = confirmed.content {
      // Others may give it back.
      guard circumstances.mayRestore, isRestorable else { return confirm(stored.content, stored.revision, stored.meta) }
      repair = .restore
      (meta, isMetaCertain) = (stored.meta, true)
      return [.report(.lostHistory(confirmed: confirmed.revision, stored: .none))]
    }
    let isEdit = stored.content != confirmed.content && (stored.isDeletedByHand || stored.document != nil)
    if isEdit, policy.detectsForeignEdits { repair = .adopt(stored.revision) }
    return confirm(stored.content, stored.revision, stored.meta)
  }

  /// Something else than before is in Redis.
  mutating func confirm(_ content: StoredValue.Content, _ revision: Revision, _ meta: Meta?) -> [Action] {
    (self.meta, isMetaCertain) = (meta, true)
    left = nil
    // What a repair was for has been overtaken.
    if revision > confirmed.revision { repair = nil }
    // Where nothing was, a tombstone that was put in the place of a lost one deletes nothing.
    let isReplaced = confirmed.content == .absent && meta?.writer.hasPrefix(Meta.foreignMark) ?? false
    let isYielding = hasPendingChange && meta?.kind == .deleted && baseRevision != .none && !isReplaced
    if content == confirmed.content, sight == .reflected, !isYielding {
      // Somebody wrote what was there: nothing to be told to anybody.
      confirmed.revision = revision
      baseRevision = revision
    } else {
      confirmed = State(revision: revision, content: content)
      sight = .unknown
    }
    adoptUnrevised()
    return policy.timeToLive > 0 && content != .absent ? [.readLater(milliseconds: policy.timeToLive)] : []
  }

  /// What is stored without a revision gets one.
  private mutating func adoptUnrevised() {
    if confirmed.revision == .none, case .document = confirmed.content, policy.detectsForeignEdits {
      repair = .adopt(.none)
    }
  }

  /// Whether it is known when what this service commits expires: otherwise the server computes that by its own clock.
  var isExpiryCertain: Bool { policy.timeToLive == 0 }

  /// When a value of this revision expires, if nobody says otherwise: its time to live after it was made.
  func expectedExpiry(of revision: Revision) -> UInt64 {
    policy.timeToLive == 0 ? 0 : revision.rawValue / 1_000 + policy.timeToLive
  }
}
