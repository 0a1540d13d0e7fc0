import Foundation

/// Messages and reads from the server, and the outcome of showing them.
extension Replica {
  /// How far ahead of the server's clock the revision of a message may be, in microseconds.
  private static let believableLead: UInt64 = 86_400_000_000

  /// A change was announced.
  ///
  /// - Parameters:
  ///   - vitals: The server's vitals as reported last, before this message was handled.
  ///   - clock: The server's clock, in microseconds since 1970; `nil` if it is not known.
  package mutating func announced(
    _ message: ChangeMessage,
    vitals: Vitals = Vitals(),
    clock: UInt64? = nil
  ) -> [Action] {
    if let clock, message.revision.rawValue > max(clock, evidence.floor.rawValue) + Self.believableLead {
      return [.confirm]
    }
    let known = max(announcements.heard?.revision ?? .none, confirmed.revision, evidence.floor)
    let isMissed = message.parent > known
    if message.revision > known { announcements.hear(message.revision, asked: questions.asked) }
    if message.version == held.meta?.version, held.restorable != nil { return restored() }
    // The value was given back, or the message was on its way when a read had already found it deleted: only a read tells.
    let isGone = confirmed.meta?.kind == .set && confirmed.content == .absent && message.revision == confirmed.revision
    if isGone, includesHeld(message) { return [.read] }
    guard message.revision > confirmed.revision, includesHeld(message) else {
      // The message is of a history other than ours, which only a read can judge, or newer with a smaller revision.
      let isKnown = held.meta?.lineage.covers(message.version) ?? false
      return !isLater(message) && (isKnown || includesHeld(message) && !isDoubted) ? [] : [.confirm]
    }
    var actions: [Action] = []
    if isVerified, isMissed {
      // The missed change is older than this message, but other messages may have been lost as well.
      actions += [.report(.missedMessage), .read]
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
      // No service that keeps to the limit has made it.
      return actions + [.confirm]
    case .document(let document):
      let isCertain = isExpiryCertain && message.writer == policy.writer
      actions += tell(.document(document), meta, isMetaCertain: isCertain, vitals)
    case .deleted:
      actions += tell(.absent, meta, vitals)
    case .reference:
      // This is most likely the echo of our own commit. Wait for the reply, which tells.
      guard isCommitUnderWay else { return actions + [.read] }
      announcements.announce(byReference: message.revision)
      return actions
    }
    return actions + advance()
  }

  /// Whether a message announces a newer version than the one shown, although its revision is smaller.
  private func isLater(_ message: ChangeMessage) -> Bool {
    guard message.revision < confirmed.revision, includesHeld(message) else { return false }
    guard let meta = confirmed.meta else { return true }
    return message.lineage.covers(meta.version) || !meta.lineage.covers(message.version)
  }

  private func includesHeld(_ message: ChangeMessage) -> Bool {
    held.meta.map { message.lineage.covers($0.version) } ?? true
  }

  /// Takes an announced version as news, and shows it.
  private mutating func tell(
    _ content: StoredValue.Content,
    _ meta: Meta,
    isMetaCertain: Bool = true,
    _ vitals: Vitals
  ) -> [Action] {
    // Another primary may have taken over since the vitals were reported.
    let sighting = Vitals(era: meta.lineage.era ?? vitals.era, evictions: vitals.evictions)
    announcements.announce(asked: questions.asked, sighting, after: confirmed.meta?.version)
    evidence.memory.remember(meta, content)
    return confirm(content, meta.revision, meta, isMetaCertain: isMetaCertain, isByWriter: true)
  }

  /// The held version was announced once more: another service was faster to restore it.
  private mutating func restored() -> [Action] {
    let isAwaited = mending.repair?.kind == .restore || mending.absence != nil || mending.wait != nil
    guard !isVerified || isAwaited else { return [] }
    mending.restoredElsewhere()
    confirmed.restored()
    evidence.outdateQuestions()
    return advance()
  }

  /// The stored value, if its summary shows that it is the held version or the announced one; `nil` if the document has
  /// to be read.
  ///
  /// A document of the same length may still be another one, written without a revision. The link covers that case: it
  /// reads documents by chance, small ones also when no message announces them, and every one that was written without
  /// a message that explains it.
  func stored(as summary: StoredSummary) -> StoredValue? {
    guard let stored = summary.meta, let known = confirmed.meta, confirmed.left == nil,
      summary.length == confirmed.content.size,
      confirmed.content.document != nil, summary.length != 0,
      stored.version == known.version, stored.parent == known.parent, stored.kind == known.kind,
      stored.writer == known.writer, !confirmed.isMetaCertain || news != nil || stored.expiry == known.expiry
    else { return nil }
    let isHeld = held.meta?.version == stored.version && held.content == confirmed.content
    guard isHeld || news != nil else { return nil }
    return StoredValue(meta: stored, content: confirmed.content)
  }

  /// A read was answered.
  ///
  /// - Parameters:
  ///   - stored: The stored value.
  ///   - number: The number of the read.
  ///   - vitals: The server's vitals as reported last, before it carried out the read.
  package mutating func stored(_ stored: StoredValue, read number: UInt64, vitals: Vitals = Vitals()) -> [Action] {
    let state = State(revision: stored.revision, content: stored.content)
    // If two answers arrive out of order, either may be the newer one.
    let isOvertaken = number < questions.answeredRead && state != confirmed.state
    let read = questions.answer(read: number, evidence: evidence.changes)
    let isFirst = !isVerified
    if phase == .reading { phase = .live }
    isVerified = true
    let isOutdated = isOvertaken || read.evidence != evidence.changes && !isNewer(stored)
    let actions = isOutdated ? [.read] : look(at: stored, question: read.question, isFirst: isFirst, vitals: vitals)
    outcomes.finish(pending.verify(read: number, state))
    // The expiry timer does not run without a connection.
    let isExpiring = isFirst && policy.timeToLive > 0 && stored.content != .absent
    return actions + (isExpiring ? [.readLater(milliseconds: policy.timeToLive)] : []) + advance()
  }

  /// The server has told how many keys it has evicted, after a value was found missing.
  ///
  /// - Parameter vitals: `nil` if the server no longer tells.
  package mutating func counted(_ vitals: Vitals?) -> [Action] {
    guard let absence = mending.takeAbsence() else { return [] }
    // A message or a read has told something else since.
    guard news == nil, evidence.changes == absence.evidence else { return [.read] + advance() }
    return judge(absence.stored, absence.isFirst, vitals, told: absence.told) + advance()
  }

  /// The grace period for other services is over.
  mutating func graceEnded(_ grace: Grace) -> [Action] {
    mending.end(grace) ? [.read] : []
  }

  /// An attempt to show a state has ended.
  package mutating func delivered(_ delivery: Delivery, outcome: DeliveryOutcome) -> [Action] {
    let withdrawnTo = shown.end(delivery.sequence)
    if outcome == .shown {
      let base = delivery.state.content.document.map { Base.stored($0) } ?? .defaultValue
      shown.reflect(base, at: delivery.state.revision)
      if let withdrawnTo { shown.markWithdrawn(to: withdrawnTo) }
      // A newer state that arrived meanwhile changes nothing.
      if delivery.state != confirmed.state, changesNothing(after: delivery.state.content) {
        shown.keep(at: confirmed.revision)
      }
    }
    guard delivery.state == confirmed.state else { return advance() }
    var actions: [Action] = []
    switch outcome {
    case .shown, .outdated: shown.markReflected()
    case .superseded: shown.markBlocked(at: delivery.stamp)
    case .unreadable(let error): actions = hold(unreadable: error)
    }
    if unreadable == nil { reports.noteReadable() }
    return actions + advance()
  }

  /// The stored document cannot be read, so the box keeps the last readable value.
  mutating func hold(unreadable error: RedisSharedStateError) -> [Action] {
    let isKnown =
      confirmed.content.document != nil && confirmed.left == nil && confirmed.meta?.revision == confirmed.revision
    let commit = isKnown ? confirmed.meta : nil
    let author = confirmed.isByWriter ? commit?.writer : nil
    let error = error.written(by: author.flatMap { $0.hasPrefix(Meta.foreignMark) ? nil : $0 })
    shown.markUnreadable(error)
    guard reports.noteUnreadable(confirmed.content) else { return [] }
    let lastCommit = commit.map { LastCommit(revision: $0.revision, writer: $0.writer) }
    return [.report(.undecodable(error, lastCommit: lastCommit, isDefault: shown.base == .defaultValue))]
  }

  // MARK: -

  /// Whether an answer is at least as new as the held version.
  func isNewer(_ stored: StoredValue) -> Bool {
    guard let held = held.meta else { return true }
    guard let meta = stored.meta else { return false }
    switch Kinship(of: meta, to: held) {
    case .descendant: return true
    case .same: return stored.content == self.held.content
    case .ancestor, .fork: return false
    }
  }

  /// Compares the stored value with the held version.
  ///
  /// - Parameters:
  ///   - question: The number of the question that this answers.
  ///   - isFirst: Whether this is the first answer on a connection, so that the server may be another one.
  mutating func look(
    at stored: StoredValue,
    question: UInt64,
    isFirst: Bool = false,
    vitals: Vitals
  ) -> [Action] {
    evidence.raiseFloor(to: stored.revision)
    announcements.answered(question)
    var isEdited = false
    var actions: [Action] = []
    switch settleNews(by: stored, question: question, isFirst: isFirst, vitals) {
    case .none: break
    case .doubted:
      questions.loadAgain()
      guard mending.wait == nil, mending.wait(.moment, for: stored) else { return [] }
      return [.wait(.moment)]
    case .undecided(let isOlder):
      // An explicit load must not end with an answer from before the announcement.
      guard !isOlder, questions.hasLoads else { return [] }
      questions.loadAgain()
      return [.read]
    case .confirmed(let told): announcements.confirm(told)
    case .edited: isEdited = true
    case .withdrawn(let revisions, let earlier):
      actions = revisions.map { .report(.withdrawn($0)) }
      if let earlier { announcements.confirm(earlier) }
    }
    // The repair for this stored value is under way already.
    let underWay = isCommitUnderWay ? repairUnderWay : nil
    if stored == underWay?.stored || stored == mending.repair?.stored {
      mending.takeAbsence()
      return actions
    }
    let told = announcements.told.flatMap { told -> Vitals? in
      guard told.version == stored.meta?.version else { return nil }
      // It may have been read after the message.
      return told.vitals.later(held.restorable?.version == told.version ? held.sighting : nil)
    }
    if isAboutEvictions(stored, vitals, told) {
      let absence = Mending.Absence(stored: stored, isFirst: isFirst, told: told, evidence: evidence.changes)
      mending.wait(for: absence)
      return actions + [.count]
    }
    return actions + judge(stored, isFirst, vitals, told: told, isEdited: isEdited)
  }

  /// Whether the verdict depends on evictions that the server may not have reported yet.
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
    mending.takeAbsence()
    let findings = Findings(
      stored: stored,
      held: held,
      memory: evidence.memory,
      vitals: vitals,
      told: told,
      isEdited: isEdited,
      isFirst: isFirst,
      grace: mending.wait.flatMap { $0.isOver && $0.stored == stored ? $0.grace : nil }
    )
    let verdict = adapted(findings.verdict, to: stored)
    if case .wait = verdict {} else { mending.stopWaiting() }
    return act(on: verdict, stored, vitals)
  }

  private enum Settlement {
    /// There is no news, or no longer any.
    case none
    /// The read was sent before the message arrived, and says nothing about it; whether the stored version is older.
    case undecided(isOlder: Bool)
    /// The server may have lost the news in a failover, and its author may restore it.
    case doubted
    /// The news is true.
    case confirmed(Announcements.Told)
    /// The news was true, and the document was edited since.
    case edited
    /// The news is false, and so are some versions announced before it. One of the earlier ones may be true.
    case withdrawn([Revision], Announcements.Told?)
  }

  /// Confirms the news, or withdraws it.
  private mutating func settleNews(
    by stored: StoredValue,
    question: UInt64,
    isFirst: Bool,
    _ vitals: Vitals
  ) -> Settlement {
    guard let news, let told = confirmed.meta else { return .none }
    let isTrue =
      news.isOwn
      ? stored.revision == told.revision && stored.meta?.writer == told.writer
      : stored.meta.map { $0.lineage.covers(told.version) } ?? false
    let isDocument = stored.document != nil && stored.revision == told.revision
    if isTrue, !isDocument || stored.content == confirmed.content {
      announcements.clearNews()
      return .confirmed(Announcements.Told(version: told.version, vitals: news.vitals))
    }
    let isOlder = stored.meta.map { told.lineage.covers($0.version) } ?? true
    guard question > news.after else { return .undecided(isOlder: isOlder) }
    if !isTrue, news.isOwn, isOlder {
      // Our own commit took effect, and the server has lost it since.
      announcements.clearNews()
      evidence.hold(told, confirmed.content, news.vitals)
      return .none
    }
    if !isTrue, !news.isOwn {
      let isLoss = isFirst && vitals.era != news.vitals.era
      if mending.wait.map({ $0.grace == .moment && !$0.isOver }) ?? isLoss { return .doubted }
    }
    // This is the one case in which a box goes back: it shows a version that does not exist.
    announcements.clearNews()
    confirmed.take(held.content, at: held.revision, held.meta, isMetaCertain: confirmed.isMetaCertain)
    shown.markUnknown()
    guard !isTrue else { return .edited }
    if !news.isOwn { shown.withdraw(to: held.revision) }
    let earlier = news.earlier.map(\.version).filter { !(stored.meta?.lineage.covers($0) ?? false) }
    return .withdrawn(
      earlier.map(\.revision) + [told.revision],
      news.earlier.last { $0.version == stored.meta?.version }
    )
  }

  /// The verdict as the key's policy and the server's permissions allow it.
  private func adapted(_ verdict: Verdict, to stored: StoredValue) -> Verdict {
    let mayRestore = policy.dataLoss == .reseed && circumstances.mayRestore
    if !mending.isPermitted {
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
      // A document that has lost its revision gets another one.
      let isUnversioned = stored.meta == nil && stored.document != nil
      if !mayRestore { return (isDeleted || isUnversioned) && policy.detectsForeignEdits ? .adopt : .follow }
    case .merge: if !mayRestore { return stored.meta == nil ? .adopt : .follow }
    // The edit is shown. It stays without a revision of its own for as long as a meta is stored beside it.
    case .adopt: if !policy.detectsForeignEdits, stored.meta != nil || held.meta == nil { return .follow }
    case .follow, .show, .leave, .wait(.moment): break
    }
    // A local change must not wait for a whole anti-entropy interval.
    if verdict == .wait(.antiEntropy), hasPendingChange {
      return mending.wait?.isOver ?? false ? .giveBack : .wait(.moment)
    }
    // A later version was confirmed and is gone. Restoring the held one would go back, so it gets a new revision.
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
      mending.drop()
      return show(stored)
    case .leave:
      mending.drop()
      // An edit that is shown was evicted before it had a revision.
      let isEdited = held.restorable == nil && news == nil && confirmed.content.document != nil
      if isEdited, stored.content == .absent { return show(stored) }
      confirmed.compare(with: stored.meta)
      return []
    case .adopt:
      let isLoss = stored.revision < held.revision && stored.content != confirmed.content
      let actions = (isLoss ? reportLoss(of: stored) : []) + show(stored)
      mending.plan(.adopt, of: stored)
      return actions
    case .restore:
      // An edit may have been shown meanwhile, and was evicted with the rest.
      let isShown = news != nil || confirmed.state == State(revision: held.revision, content: held.content)
      let actions = isShown ? [] : confirm(held.content, held.revision, held.meta)
      mending.plan(.restore, of: stored)
      guard !isShown else { return reportLoss(of: stored) }
      // The box has the held version if it was made here and no other state was shown since.
      if shown.isMadeHere(held) { shown.markReflected() }
      return reportLoss(of: stored) + actions
    case .merge:
      mending.plan(.merge, of: stored)
      return reportLoss(of: stored)
    case .giveBack:
      mending.plan(.giveBack, of: stored)
      return reportLoss(of: stored)
    case .wait(let grace):
      mending.drop()
      let actions = stored.document == nil ? [] : show(stored)
      return mending.wait(grace, for: stored) ? actions + [.wait(grace)] : actions
    }
  }

  /// Whether the server has lost a version that this service cannot restore, because only a message had told of it.
  private func isLostUnread(_ stored: StoredValue) -> Bool {
    guard confirmed.revision > held.revision else { return false }
    if stored.document != nil { return news == nil && stored.revision < confirmed.revision }
    guard stored.content == .absent, confirmed.content.document != nil else { return false }
    return stored.meta.map { $0.kind == .set && $0.expiry == 0 && $0.revision == confirmed.revision } ?? true
  }

  /// Takes the stored value as the held version, and shows it.
  mutating func follow(_ stored: StoredValue, _ vitals: Vitals?) -> [Action] {
    mending.drop()
    evidence.hold(stored.meta, stored.content, vitals)
    // A newer version was announced after the read was sent.
    guard news == nil else { return [] }
    if stored.meta == nil, policy.dataLoss == .reseed { return show(stored) }
    let isKnown = stored.revision == confirmed.revision && stored.content == confirmed.content && unreadable == nil
    guard isKnown else { return confirm(stored.content, stored.revision, stored.meta) }
    confirmed.take(stored.content, at: stored.revision, stored.meta)
    return []
  }

  /// Shows the stored value without holding it, because it has no revision of its own.
  mutating func show(_ stored: StoredValue) -> [Action] {
    let revision = max(stored.revision, confirmed.revision)
    guard stored.content != confirmed.content || unreadable != nil || stored.revision > confirmed.revision else {
      confirmed.compare(with: stored.meta)
      return []
    }
    let actions = confirm(stored.content, revision, stored.meta)
    confirmed.placeBeside(stored.meta)
    return actions
  }

  private func reportLoss(of stored: StoredValue) -> [Action] {
    guard held.meta != nil else { return [] }
    return [.report(.lostHistory(confirmed: held.revision, stored: stored.revision))]
  }

  /// Takes another state as the confirmed one.
  mutating func confirm(
    _ content: StoredValue.Content,
    _ revision: Revision,
    _ meta: Meta?,
    isMetaCertain: Bool = true,
    isByWriter: Bool = false
  ) -> [Action] {
    // A newer version makes the repair pointless.
    if revision > confirmed.revision { mending.drop() }
    let before = confirmed.content
    confirmed.take(content, at: revision, meta, isMetaCertain: isMetaCertain, isByWriter: isByWriter)
    if shown.sight == .reflected, changesNothing(after: before) {
      shown.keep(at: revision)
    } else {
      shown.markUnknown()
    }
    return policy.timeToLive > 0 && content != .absent ? [.readLater(milliseconds: policy.timeToLive)] : []
  }

  /// Whether the confirmed state equals the one before it, so that there is nothing to show.
  private func changesNothing(after content: StoredValue.Content) -> Bool {
    // A tombstone that replaces a lost one, where nothing was stored, deletes nothing.
    let isReplaced = content == .absent && confirmed.meta?.writer.hasPrefix(Meta.foreignMark) ?? false
    let isYielding =
      hasPendingChange && confirmed.meta?.kind == .deleted && shown.baseRevision != .none && !isReplaced
    return content == confirmed.content && !isYielding
  }

  /// Whether the expiry of this service's commits is known. Otherwise the server computes it by its own clock.
  var isExpiryCertain: Bool { policy.timeToLive == 0 }

  /// When a value of this revision expires by default: its time to live after it was made. In milliseconds since 1970.
  func expectedExpiry(of revision: Revision) -> UInt64 {
    policy.timeToLive == 0 ? 0 : revision.rawValue / 1_000 + policy.timeToLive
  }
}
