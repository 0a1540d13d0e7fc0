import Foundation

/// What the server says, and what came of showing it.
extension Replica {
  /// No message is believed whose revision is further than this ahead of the server's clock.
  private static let believableLead: UInt64 = 86_400_000_000

  /// A change was announced.
  ///
  /// - Parameters:
  ///   - vitals: How the server was when it was asked last, before this message was handled.
  ///   - clock: The server's, in microseconds since 1970; `nil`: it is not known.
  package mutating func announced(
    _ message: ChangeMessage,
    vitals: Vitals = Vitals(),
    clock: UInt64? = nil
  ) -> [Action] {
    if let clock, message.revision.rawValue > max(clock, floor.rawValue) + Self.believableLead { return [.confirm] }
    let known = max(heard?.revision ?? .none, confirmed.revision, floor)
    let isMissed = message.parent > known
    if message.revision > known { heard = Heard(revision: message.revision, after: questions) }
    if message.version == held.meta?.version, held.restorable != nil { return restored() }
    let isGivenBack = meta?.kind == .set && confirmed.content == .absent && message.revision == confirmed.revision
    guard message.revision > confirmed.revision || isGivenBack, includesHeld(message) else {
      // Of another history than ours, which only what is stored can tell, or newer with a smaller number.
      let isKnown = held.meta?.lineage.covers(message.version) ?? false
      return !isLater(message) && (isKnown || includesHeld(message) && !isDoubted) ? [] : [.confirm]
    }
    var actions: [Action] = []
    if isVerified, isMissed {
      // What is missing is older than this message, but others may have been lost as well.
      actions += [.report(.missedMessage), .read]
    } else if isGivenBack {
      // Or its first message has come later than the answer that it was evicted.
      actions.append(.read)
    }
    let kind: Meta.Kind = message.content == .deleted ? .deleted : .set
    let meta = Meta(
      revision: message.revision,
      parent: message.parent,
      kind: kind,
      expiry: kind == .set ? expectedExpiry(of: message.revision) : 0,
      writer: message.writer,
      lineage: message.lineage
    )
    switch message.content {
    case .document(let document) where document.count > policy.maximumBytes:
      // Nobody who keeps to the limit has made it.
      return actions + [.confirm]
    case .document(let document):
      actions += tell(.document(document), meta, vitals)
      isMetaCertain = isExpiryCertain && message.writer == policy.writer
    case .deleted:
      actions += tell(.absent, meta, vitals)
    case .reference:
      // Most likely the echo of our own commit: wait for its reply, which tells.
      guard isCommitUnderWay else { return actions + [.read] }
      announcedByReference = max(announcedByReference, message.revision)
      return actions
    }
    return actions + advance()
  }

  /// Whether a message tells of something newer than what is shown, although its number is smaller.
  private func isLater(_ message: ChangeMessage) -> Bool {
    guard message.revision < confirmed.revision, includesHeld(message) else { return false }
    guard let meta else { return true }
    return message.lineage.covers(meta.version) || !meta.lineage.covers(message.version)
  }

  private func includesHeld(_ message: ChangeMessage) -> Bool {
    held.meta.map { message.lineage.covers($0.version) } ?? true
  }

  /// Shows what a message has told.
  private mutating func tell(_ content: StoredValue.Content, _ meta: Meta, _ vitals: Vitals) -> [Action] {
    // The server may have become another one since it was asked.
    let sighting = Vitals(era: meta.lineage.era ?? vitals.era, evictions: vitals.evictions)
    var earlier = news?.earlier ?? []
    if let news, let told = self.meta { earlier.append(Told(version: told.version, vitals: news.vitals)) }
    news = News(after: questions, vitals: sighting, earlier: earlier.suffix(News.maximumEarlier))
    memory.remember(meta, content)
    return confirm(content, meta.revision, meta)
  }

  /// What is held was announced once more: somebody else was faster to restore what the server had lost.
  private mutating func restored() -> [Action] {
    guard !isVerified || repair?.kind == .restore || absence != nil || wait != nil else { return [] }
    if repair?.kind == .restore { repair = nil }
    (left, absence, wait) = (nil, nil, nil)
    isMetaCertain = false
    // What was asked before the restoring may be answered after its message.
    evidence += 1
    return advance()
  }

  /// What is stored, where a summary tells that it is what is held, or what a message has told; `nil`: the document has
  /// to be read.
  ///
  /// A document of the same length may be another one, which somebody has written without a revision. The link sees to
  /// that: it reads documents by chance, small ones also where no message tells of them, and all where somebody has written
  /// and no message tells who.
  func stored(as summary: StoredSummary) -> StoredValue? {
    guard let stored = summary.meta, let known = meta, left == nil, summary.length == confirmed.content.size,
      confirmed.content.document != nil, summary.length != 0,
      stored.version == known.version, stored.parent == known.parent, stored.kind == known.kind,
      stored.writer == known.writer, !isMetaCertain || news != nil || stored.expiry == known.expiry
    else { return nil }
    let isHeld = held.meta?.version == stored.version && held.content == confirmed.content
    guard isHeld || news != nil else { return nil }
    return StoredValue(meta: stored, content: confirmed.content)
  }

  /// What is stored, as the answer to a read with this number.
  ///
  /// - Parameter vitals: How the server was when it was asked last, before this answer.
  package mutating func stored(_ stored: StoredValue, read number: UInt64, vitals: Vitals = Vitals()) -> [Action] {
    var read = Read(number: number, question: questions, evidence: evidence)
    while let first = reads.first, first.number <= number {
      read = first
      reads.removeFirst()
    }
    // Of two answers that overtook each other either may be the newer one.
    let isOvertaken = number < answeredRead && State(revision: stored.revision, content: stored.content) != confirmed
    answeredRead = max(answeredRead, number)
    let isFirst = !isVerified
    if phase == .reading { phase = .live }
    isVerified = true
    let isOutdated = isOvertaken || read.evidence != evidence && !isNewer(stored)
    let actions = isOutdated ? [.read] : look(at: stored, question: read.question, isFirst: isFirst, vitals: vitals)
    if let verification, verification.read <= number {
      self.verification = nil
      isUpdateOutdated = false
      if State(revision: stored.revision, content: stored.content) == verification.state {
        finished += verification.updates
      } else {
        updates = verification.updates + updates
        isUpdateOutdated = true
      }
    }
    // Whoever was away has not counted the time.
    let isExpiring = isFirst && policy.timeToLive > 0 && stored.content != .absent
    return actions + (isExpiring ? [.readLater(milliseconds: policy.timeToLive)] : []) + advance()
  }

  /// The server has told how many keys it has thrown away, after something was found gone.
  ///
  /// - Parameter vitals: `nil`: it does not tell any more.
  package mutating func counted(_ vitals: Vitals?) -> [Action] {
    guard let absence = absence.take() else { return [] }
    // Something else was told, or found, since.
    guard news == nil, evidence == absence.evidence else { return [.read] + advance() }
    return judge(absence.stored, absence.isFirst, vitals, told: absence.told) + advance()
  }

  /// Those who may have known better have had their time.
  package mutating func graceEnded(_ grace: Grace) -> [Action] {
    guard wait?.grace == grace else { return [] }
    wait?.isOver = true
    return [.read]
  }

  /// An attempt to show a state has ended.
  package mutating func delivered(_ delivery: Delivery, outcome: DeliveryOutcome) -> [Action] {
    if showing == delivery.sequence { showing = nil }
    if outcome == .shown {
      let base = delivery.state.content.document.map { Base.stored($0) } ?? .defaultValue
      reflect(base, at: delivery.state.revision)
      // What came in meanwhile is there already.
      if delivery.state != confirmed, changesNothing(after: delivery.state.content) {
        baseRevision = confirmed.revision
        sight = .reflected
      }
    }
    guard delivery.state == confirmed else { return advance() }
    var actions: [Action] = []
    switch outcome {
    case .shown, .outdated: sight = .reflected
    case .superseded: sight = .blocked(stamp: delivery.stamp)
    case .unreadable(let error): actions = hold(unreadable: error)
    }
    if unreadable == nil { reportedUnreadable = nil }
    return actions + advance()
  }

  /// What is stored cannot be read, so the last good value stays.
  mutating func hold(unreadable error: RedisSharedStateError) -> [Action] {
    let isKnown = confirmed.content.document != nil && left == nil && meta?.revision == confirmed.revision
    let author = isKnown ? meta?.writer : nil
    let error = error.written(by: author.flatMap { $0.hasPrefix(Meta.foreignMark) ? nil : $0 })
    sight = .unreadable(error)
    hasLoadStatus = true
    // An edit gets its revision later.
    guard reportedUnreadable != confirmed.content else { return [] }
    reportedUnreadable = confirmed.content
    return [.report(.undecodable(isKnown ? confirmed.revision : nil, error))]
  }

  // MARK: -

  /// Whether an answer tells at least as much as what is held.
  func isNewer(_ stored: StoredValue) -> Bool {
    guard let held = held.meta else { return true }
    guard let meta = stored.meta else { return false }
    switch Kinship(of: meta, to: held) {
    case .descendant: return true
    case .same: return stored.content == self.held.content
    case .ancestor, .fork: return false
    }
  }

  /// Compares what is stored with what is held.
  ///
  /// - Parameters:
  ///   - question: The number of the question that this is the answer to.
  ///   - isFirst: Whether this is the first answer of a connection, so that it may be another server by now.
  mutating func look(
    at stored: StoredValue,
    question: UInt64,
    isFirst: Bool = false,
    vitals: Vitals
  ) -> [Action] {
    raiseFloor(to: stored.revision)
    // A message that was not true hides no gap any more.
    if let heard, question > heard.after { self.heard = nil }
    var isEdited = false
    var actions: [Action] = []
    switch settleNews(by: stored, question: question, isFirst: isFirst, vitals) {
    case .none: break
    case .doubted:
      for waiter in loadWaiters.keys { loadWaiters[waiter] = sentReads + 1 }
      guard wait == nil else { return [] }
      wait = Wait(grace: .moment, stored: stored)
      return [.wait(.moment)]
    case .undecided(let isOlder):
      // Who wants to know what is stored is not told of something else.
      guard !isOlder, !loadWaiters.isEmpty else { return [] }
      for waiter in loadWaiters.keys { loadWaiters[waiter] = sentReads + 1 }
      return [.read]
    case .confirmed(let sighting): told = sighting
    case .edited: isEdited = true
    case .withdrawn(let revisions, let earlier):
      actions = revisions.map { .report(.withdrawn($0)) }
      if let earlier { told = earlier }
    }
    // What was decided about it is on its way already.
    var mending: Repair? = nil
    if case .repair(let repair)? = inFlight?.purpose, isCommitUnderWay { mending = repair }
    if stored == mending?.stored || stored == repair?.stored {
      absence = nil
      return actions
    }
    let told = told.flatMap { told -> Vitals? in
      guard told.version == stored.meta?.version else { return nil }
      // It may have been read since.
      return told.vitals.later(held.restorable?.version == told.version ? held.sighting : nil)
    }
    if isAboutEvictions(stored, vitals, told) {
      absence = Absence(stored: stored, isFirst: isFirst, told: told, evidence: evidence)
      return actions + [.count]
    }
    return actions + judge(stored, isFirst, vitals, told: told, isEdited: isEdited)
  }

  /// Whether it matters if the server has thrown something away until now, and is not known yet.
  private func isAboutEvictions(_ stored: StoredValue, _ vitals: Vitals, _ told: Vitals?) -> Bool {
    guard let evictions = vitals.evictions else { return false }
    switch stored.content {
    case .oversized, .otherType: return false
    case .document, .absent: break
    }
    if held.meta == nil, stored.meta == nil { return evictions == 0 }
    let isGone = stored.content == .absent && stored.meta?.kind != .deleted
    guard stored.meta == nil || isGone, told != nil || held.restorable != nil else { return false }
    return vitals == told ?? held.sighting
  }

  private mutating func judge(
    _ stored: StoredValue,
    _ isFirst: Bool,
    _ vitals: Vitals?,
    told: Vitals?,
    isEdited: Bool = false
  ) -> [Action] {
    absence = nil
    let findings = Findings(
      stored: stored,
      held: held,
      memory: memory,
      vitals: vitals,
      told: told,
      isEdited: isEdited,
      isFirst: isFirst,
      grace: wait.flatMap { $0.isOver && $0.stored == stored ? $0.grace : nil }
    )
    let verdict = adapted(findings.verdict, to: stored)
    if case .wait = verdict {} else { wait = nil }
    return act(on: verdict, stored, vitals)
  }

  private enum Settlement {
    /// There are no news, or none any more.
    case none
    /// What is stored was asked for before the message, and tells nothing of it; whether it is older.
    case undecided(isOlder: Bool)
    /// The server may have lost them with its reign, and whoever has made them may give them back.
    case doubted
    /// They are true.
    case confirmed(Told)
    /// They were, and somebody has written another document since.
    case edited
    /// They are not, nor are some of those that were told before them; one of those may be.
    case withdrawn([Revision], Told?)
  }

  /// Confirms what a message has told, or takes it back.
  private mutating func settleNews(
    by stored: StoredValue,
    question: UInt64,
    isFirst: Bool,
    _ vitals: Vitals
  ) -> Settlement {
    guard let news, let told = meta else { return .none }
    let isTrue =
      news.isOwn
      ? stored.revision == told.revision && stored.meta?.writer == told.writer
      : stored.meta.map { $0.lineage.covers(told.version) } ?? false
    let isDocument = stored.document != nil && stored.revision == told.revision
    if isTrue, !isDocument || stored.content == confirmed.content {
      self.news = nil
      return .confirmed(Told(version: told.version, vitals: news.vitals))
    }
    let isOlder = stored.meta.map { told.lineage.covers($0.version) } ?? true
    guard question > news.after else { return .undecided(isOlder: isOlder) }
    if !isTrue, news.isOwn, isOlder {
      // It was made, and the server has lost it since.
      self.news = nil
      hold(told, confirmed.content, news.vitals)
      return .none
    }
    if !isTrue, !news.isOwn {
      let isLoss = isFirst && vitals.era != news.vitals.era
      if wait.map({ $0.grace == .moment && !$0.isOver }) ?? isLoss { return .doubted }
    }
    // The one case in which a box goes back: what it shows is nobody's.
    self.news = nil
    (confirmed, meta, left) = (State(revision: held.revision, content: held.content), held.meta, nil)
    sight = .unknown
    guard !isTrue else { return .edited }
    if !news.isOwn, baseRevision > held.revision { (baseRevision, isBaseWithdrawn) = (held.revision, true) }
    let earlier = news.earlier.map(\.version).filter { !(stored.meta?.lineage.covers($0) ?? false) }
    return .withdrawn(
      earlier.map(\.revision) + [told.revision],
      news.earlier.last { $0.version == stored.meta?.version }
    )
  }

  /// What the key's policy makes of a verdict.
  private func adapted(_ verdict: Verdict, to stored: StoredValue) -> Verdict {
    let mayRestore = policy.dataLoss == .reseed && circumstances.mayRestore
    if !mayMend {
      switch verdict {
      case .restore, .giveBack, .wait(.antiEntropy): return .leave
      case .merge: return .follow
      case .adopt: return .show
      case .follow, .show, .leave, .wait(.moment): break
      }
    }
    switch verdict {
    case .restore, .giveBack, .wait(.antiEntropy):
      let isDeleted = policy.dataLoss == .adoptServer && stored.isGone && stored.meta?.expiry == 0
      // What is left without its revision gets another one.
      let isUnversioned = stored.meta == nil && stored.document != nil
      if !mayRestore { return (isDeleted || isUnversioned) && policy.detectsForeignEdits ? .adopt : .follow }
    case .merge: if !mayRestore { return stored.meta == nil ? .adopt : .follow }
    // The edit is shown, and stays without a revision, as long as there is one beside it.
    case .adopt: if !policy.detectsForeignEdits, stored.meta != nil || held.meta == nil { return .follow }
    case .follow, .show, .leave, .wait(.moment): break
    }
    // Nobody is to wait for long with a change of his own.
    if verdict == .wait(.antiEntropy), hasPendingChange { return wait?.isOver ?? false ? .giveBack : .wait(.moment) }
    // What came after it was seen to be gone, so that it would go back: it gets a revision of its own.
    let isLater = news == nil && confirmed.revision > held.revision
    if verdict == .restore, isLater, stored.document == nil, held.content.document != nil { return .giveBack }
    return verdict
  }

  private mutating func act(on verdict: Verdict, _ stored: StoredValue, _ vitals: Vitals?) -> [Action] {
    switch verdict {
    case .follow:
      let isLoss = held.meta.map { held in stored.meta.map { !$0.lineage.covers(held.version) } ?? true } ?? false
      let loss = isLoss ? reportLoss(of: stored) : []
      let report = isLostUnread(stored) ? [.report(.withdrawn(confirmed.revision))] : loss
      return report + follow(stored, vitals)
    case .show:
      repair = nil
      return show(stored)
    case .leave:
      repair = nil
      // An edit that was shown has been thrown away before it had a revision.
      let isEdited = held.restorable == nil && news == nil && confirmed.content.document != nil
      if isEdited, stored.content == .absent { return show(stored) }
      left = stored.meta == meta ? nil : Left(meta: stored.meta)
      return []
    case .adopt:
      let isLoss = stored.revision < held.revision && stored.content != confirmed.content
      let actions = (isLoss ? reportLoss(of: stored) : []) + show(stored)
      repair = Repair(kind: .adopt, stored: stored)
      return actions
    case .restore:
      // An edit may have been shown meanwhile, and has been thrown away with the rest.
      let isShown = news != nil || confirmed == State(revision: held.revision, content: held.content)
      let actions = isShown ? [] : confirm(held.content, held.revision, held.meta)
      repair = Repair(kind: .restore, stored: stored)
      guard !isShown else { return reportLoss(of: stored) }
      // The box has it, if it was made here, and nothing else was shown since.
      let isReflected = baseRevision == held.revision && held.content.document == reflected && !isBaseWithdrawn
      if case .encoded = base, isReflected { sight = .reflected }
      return reportLoss(of: stored) + actions
    case .merge:
      repair = Repair(kind: .merge, stored: stored)
      return reportLoss(of: stored)
    case .giveBack:
      repair = Repair(kind: .giveBack, stored: stored)
      return reportLoss(of: stored)
    case .wait(let grace):
      repair = nil
      let actions = stored.document == nil ? [] : show(stored)
      guard wait?.grace != grace || wait?.stored != stored else { return actions }
      wait = Wait(grace: grace, stored: stored)
      return actions + [.wait(grace)]
    }
  }

  /// Whether the server has lost what only a message had told, so that nobody here can give it back.
  private func isLostUnread(_ stored: StoredValue) -> Bool {
    guard confirmed.revision > held.revision else { return false }
    if stored.document != nil { return news == nil && stored.revision < confirmed.revision }
    guard stored.content == .absent, confirmed.content.document != nil else { return false }
    return stored.meta.map { $0.kind == .set && $0.expiry == 0 && $0.revision == confirmed.revision } ?? true
  }

  /// What is stored is what counts, and what is held.
  mutating func follow(_ stored: StoredValue, _ vitals: Vitals?) -> [Action] {
    repair = nil
    hold(stored.meta, stored.content, vitals)
    // Something newer was announced since it was asked for.
    guard news == nil else { return [] }
    if stored.meta == nil, policy.dataLoss == .reseed { return show(stored) }
    let isKnown = stored.revision == confirmed.revision && stored.content == confirmed.content && unreadable == nil
    guard isKnown else { return confirm(stored.content, stored.revision, stored.meta) }
    (meta, isMetaCertain, left) = (stored.meta, true, nil)
    return []
  }

  /// What is stored is shown, and not held: it has no revision of its own.
  mutating func show(_ stored: StoredValue) -> [Action] {
    let revision = max(stored.revision, confirmed.revision)
    let expected = Left(meta: stored.meta)
    guard stored.content != confirmed.content || unreadable != nil || stored.revision > confirmed.revision else {
      left = expected.meta == meta ? nil : expected
      return []
    }
    let actions = confirm(stored.content, revision, stored.meta)
    left = expected
    return actions
  }

  private func reportLoss(of stored: StoredValue) -> [Action] {
    guard held.meta != nil else { return [] }
    return [.report(.lostHistory(confirmed: held.revision, stored: stored.revision))]
  }

  /// There is evidence for a version.
  mutating func hold(_ meta: Meta?, _ content: StoredValue.Content, _ vitals: Vitals?) {
    if held.meta?.version != meta?.version || held.content != content { evidence += 1 }
    held = Held(meta, content, seenWith: vitals)
    if let meta { memory.remember(meta, content) }
  }

  /// Something else than before is in Redis.
  mutating func confirm(_ content: StoredValue.Content, _ revision: Revision, _ meta: Meta?) -> [Action] {
    (self.meta, isMetaCertain) = (meta, true)
    left = nil
    // What a repair was for has been overtaken.
    if revision > confirmed.revision { repair = nil }
    let before = confirmed
    confirmed = State(revision: revision, content: content)
    if sight == .reflected, changesNothing(after: before.content) {
      baseRevision = revision
    } else {
      sight = .unknown
    }
    return policy.timeToLive > 0 && content != .absent ? [.readLater(milliseconds: policy.timeToLive)] : []
  }

  /// Whether the confirmed state is the same as the one before it, so that nobody has to be told of it.
  private func changesNothing(after content: StoredValue.Content) -> Bool {
    // Where nothing was, a tombstone that was put in the place of a lost one deletes nothing.
    let isReplaced = content == .absent && meta?.writer.hasPrefix(Meta.foreignMark) ?? false
    let isYielding = hasPendingChange && meta?.kind == .deleted && baseRevision != .none && !isReplaced
    return content == confirmed.content && !isYielding
  }

  /// Whether it is known when what this service commits expires: otherwise the server computes that by its own clock.
  var isExpiryCertain: Bool { policy.timeToLive == 0 }

  /// When a value of this revision expires, if nobody says otherwise: its time to live after it was made.
  func expectedExpiry(of revision: Revision) -> UInt64 {
    policy.timeToLive == 0 ? 0 : revision.rawValue / 1_000 + policy.timeToLive
  }
}
