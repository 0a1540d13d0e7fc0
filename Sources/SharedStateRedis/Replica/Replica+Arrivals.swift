import Foundation

/// Messages and reads from the server, and the outcome of showing them.
extension Replica {
  /// A change was announced, as the server proves.
  ///
  /// - Parameters:
  ///   - vitals: The server's vitals as reported last, before this message was handled.
  ///   - clock: The server's clock, in microseconds since 1970; `nil` if it is not known.
  mutating func announced(
    _ message: ChangeMessage,
    vitals: Vitals = Vitals(),
    clock: UInt64? = nil
  ) -> [Action] {
    isNext(message) && !isOld(message, vitals, clock)
      ? take(message, vitals) : announcedOutOfTurn(message, vitals, clock)
  }

  /// Whether a message announces the version that follows the verified one, and nothing casts doubt on it.
  private func isNext(_ message: ChangeMessage) -> Bool {
    guard let online, online.wasRead, !online.doubtsMessages, let last = lastVerified.meta else { return false }
    return message.meta.parent == confirmed.revision && last.revision == confirmed.revision
      && message.revision > confirmed.revision
      && message.meta.lineage.covers(last.version) && !last.lineage.covers(message.meta.version)
  }

  private mutating func announcedOutOfTurn(
    _ message: ChangeMessage,
    _ vitals: Vitals,
    _ clock: UInt64?
  ) -> [Action] {
    let isMissed = message.meta.parent > max(confirmed.revision, verified.floor)
    if message.meta.version == lastVerified.meta?.version, lastVerified.restorable != nil { return restored() }
    // The value was given back, or the message was on its way when a read had already found it deleted: only a read
    // decides.
    let isGone = confirmed.meta?.kind == .set && confirmed.content == .absent && message.revision == confirmed.revision
    if isGone, includesVerified(message) { return [.read] }
    let isKnown = lastVerified.meta?.lineage.covers(message.meta.version) ?? false
    let isNewer = message.revision > confirmed.revision
    guard isNewer, includesVerified(message), !isKnown else {
      if lastVerified.meta?.lineage.names(message.meta.version) ?? false { return [] }
      // The message is of a history other than ours, which only a read can judge, or newer with a smaller revision.
      return !isNewer && !isLater(message) && (isKnown || includesVerified(message)) ? [] : [.confirm]
    }
    if isOld(message, vitals, clock) { return [.confirm] }
    // Whoever can read the secret can forge or repeat a message. Before the first read nothing contradicts it, so it is
    // only a hint. The read that follows a subscription is as new as a message that came before it.
    if let online, !online.wasRead { return online.phase == .subscribing ? [] : [.read] }
    if online?.doubtsMessages ?? false { return [.confirm] }
    // The missed change is older than this message, but other messages may have been lost as well.
    return (wasRead && isMissed ? [.report(.missedMessage), .read] : []) + take(message, vitals)
  }

  /// Takes the announced version as the verified one, and shows it.
  private mutating func take(_ message: ChangeMessage, _ vitals: Vitals) -> [Action] {
    let content: StoredValue.Content
    switch message.content {
    case .document(let document): content = .document(document)
    case .deleted: content = .absent
    case .reference:
      // This is most likely the echo of our own commit. Wait for the reply, which decides.
      guard isCommitUnderWay else { return [.read] }
      if let known = online?.referenced { online?.referenced = max(known, message.revision) }
      return []
    }
    // Only a read refuses a document that is too large, because it names the size.
    if content.size > policy.maximumBytes { return [.read] }
    // The value may have been deleted after the message.
    let actions: [Action] = online?.repairs.overtaken() ?? false ? [.read] : []
    verified.raiseFloor(to: message.revision)
    verified.add(message.meta, content, vitals, isOnlyAnnounced: true)
    online?.isServerKnown = true
    return actions + confirm(content, message.revision, message.meta, isByWriter: true) + advance()
  }

  /// Whether the message may be a recorded one, of a value that was deleted since: it is of another era, or its
  /// tombstone would be gone by now.
  private func isOld(_ message: ChangeMessage, _ vitals: Vitals, _ clock: UInt64?) -> Bool {
    // A server that does not reveal its vitals has another era on each connection.
    if vitals.evictions != nil, let era = message.meta.lineage.era, era != vitals.era { return true }
    let lifetime = UInt64(CommitScript.tombstoneLifetimeInSeconds) * 1_000_000
    return clock.map { message.revision.rawValue + lifetime <= $0 } ?? false
  }

  /// Whether a message announces a newer version than the one shown, although its revision is smaller.
  private func isLater(_ message: ChangeMessage) -> Bool {
    guard message.revision < confirmed.revision, includesVerified(message) else { return false }
    guard let meta = confirmed.meta else { return true }
    return message.meta.lineage.covers(meta.version) || !meta.lineage.covers(message.meta.version)
  }

  private func includesVerified(_ message: ChangeMessage) -> Bool {
    lastVerified.meta.map { message.meta.lineage.covers($0.version) } ?? true
  }

  /// The verified version was announced once more: another service was faster to restore it.
  private mutating func restored() -> [Action] {
    let isAwaited =
      online?.repairs.repair?.kind == .restore || online?.repairs.absence != nil || online?.repairs.wait != nil
    guard !wasRead || isAwaited else { return [] }
    online?.repairs.restoredElsewhere()
    confirmed.restored()
    verified.outdateQuestions()
    return advance()
  }

  /// The stored value, if its summary shows that it is the verified version; `nil` if the document has to be read.
  ///
  /// A document of the same length may still be another one, written without a revision. The link covers that case: it
  /// reads documents by chance, small ones also when no message announces them, and every one that was written without
  /// a message that explains it.
  func stored(as summary: StoredSummary) -> StoredValue? {
    guard let stored = summary.meta, let known = confirmed.meta, confirmed.left == nil,
      summary.length == confirmed.content.size,
      confirmed.content.document != nil, summary.length != 0,
      stored.version == known.version, stored.parent == known.parent, stored.kind == known.kind,
      stored.writer == known.writer, !confirmed.isMetaCertain || stored.expiry == known.expiry,
      lastVerified.meta?.version == stored.version, lastVerified.content == confirmed.content
    else { return nil }
    return StoredValue(meta: stored, content: confirmed.content)
  }

  /// A read was answered.
  ///
  /// - Parameters:
  ///   - stored: The stored value.
  ///   - number: The number of the read.
  ///   - vitals: The server's vitals as reported last, before it carried out the read.
  mutating func stored(_ stored: StoredValue, read number: UInt64, vitals: Vitals = Vitals()) -> [Action] {
    let state = State(revision: stored.revision, content: stored.content)
    // If two answers arrive out of order, either may be the newer one.
    let isOvertaken = number < outstandingReads.answeredRead && state != confirmed.state
    let read = answer(read: number)
    // The expiry timer does not run without a connection.
    let isExpiring = !wasRead && policy.timeToLive > 0 && stored.content != .absent
    let isFirst = !(online?.isServerKnown ?? false)
    if phase == .reading { online?.phase = .live }
    online?.wasRead = true
    online?.refusalToRead = nil
    online?.isServerKnown = true
    let isOutdated = isOvertaken || read.verifiedChanges != verified.changes && !isNewer(stored)
    let actions = isOutdated ? [.read] : compare(stored, isFirst: isFirst, vitals: vitals)
    outcomes.finish(pending.verify(read: number, confirmed.isReplaced(by: stored) ? storedState : state))
    return actions + (isExpiring ? [.readLater(milliseconds: policy.timeToLive)] : []) + advance()
  }

  /// A read was answered, and so were the ones before it. Returns it, or a new one if it is not known any more.
  private mutating func answer(read number: UInt64) -> OutstandingReads.Read {
    outstandingReads.answer(read: number)
    var read = OutstandingReads.Read(number: number, verifiedChanges: verified.changes)
    while let first = online?.reads.first, first.number <= number {
      read = first
      online?.reads.removeFirst()
    }
    return read
  }

  /// Whether a read was answered since the connection was made.
  private var wasRead: Bool { online?.wasRead ?? false }

  /// The server has reported how many keys it has evicted, after a value was found missing.
  ///
  /// - Parameter vitals: `nil` if the server no longer reports them.
  mutating func counted(_ vitals: Vitals?) -> [Action] {
    guard let absence = online?.repairs.takeAbsence() else { return [] }
    // A message or a read has shown something else since.
    guard verified.changes == absence.verifiedChanges else { return [.read] + advance() }
    return judge(absence.stored, absence.isFirst, vitals) + advance()
  }

  /// The server was asked for the document of a version, as the base of a merge.
  ///
  /// - Parameter content: `nil` if the server has not kept it. Then the merge makes do with what is remembered here.
  mutating func foundBase(_ content: StoredValue.Content?, of version: Version) -> [Action] {
    if let content { verified.memory.remember(content.document, of: version) }
    online?.repairs.answered(version)
    return advance()
  }

  /// The grace period for other services is over.
  mutating func graceEnded(_ grace: Grace) -> [Action] {
    online?.repairs.end(grace) ?? false ? [.read] : []
  }

  /// An attempt to show a state has ended.
  mutating func endedShowing(_ toShow: StateToShow, outcome: ShowOutcome) -> [Action] {
    shown.end(toShow.sequence)
    if toShow.isReversion { return advance() }
    if let (base, members) = base(of: toShow.state, outcome) {
      shown.reflect(base, at: toShow.state.revision, unreadableMembers: members)
      // A later local change was discarded meanwhile, so the box does not show the state any more.
      if let stamp = toShow.stamp, stamp != pending.settledStamp {
        shown.markUnknown()
        shown.discard(pending.settledStamp)
        return advance()
      }
      // A newer state that arrived meanwhile changes nothing.
      if toShow.state != confirmed.state, changesNothing(after: toShow.state.content) {
        shown.keep(at: confirmed.revision)
      }
    }
    guard toShow.state == confirmed.state else { return advance() }
    var actions: [Action] = []
    switch outcome {
    case .shown, .shownInPart, .outdated: shown.markReflected()
    case .superseded: shown.markBlocked(at: toShow.stamp)
    case .unreadable(let error): actions = hold(unreadable: error)
    }
    if unreadable == nil { reports.noteReadable() }
    return actions + advance()
  }

  /// The base of the next local change, and the members of the stored document that cannot be read; `nil`: the box has
  /// not shown the state.
  private func base(of state: State, _ outcome: ShowOutcome) -> (Base, RedisSharedStateError?)? {
    switch (outcome, state.content.document) {
    case (.shown, nil): (.defaultValue, nil)
    case (.shown, let document?): (.stored(document), nil)
    case (.shownInPart(let encoded, let members), let document?): (.encoded(encoded, stored: document), members)
    case (.shownInPart, nil), (.superseded, _), (.outdated, _), (.unreadable, _): nil
    }
  }

  /// The stored document cannot be read, so the box keeps the last readable value.
  mutating func hold(unreadable error: RedisSharedStateError) -> [Action] {
    let isKnown =
      confirmed.content.document != nil && confirmed.left == nil && confirmed.meta?.revision == confirmed.revision
    let commit = isKnown ? confirmed.meta : nil
    let author = confirmed.isByWriter ? commit?.writer : nil
    let error = error.written(by: author.flatMap { commit?.isForeign ?? false ? nil : $0 })
    shown.markUnreadable(error)
    guard reports.noteUnreadable(confirmed.content) else { return [] }
    let lastCommit = commit.map { LastCommit(revision: $0.revision, writer: confirmed.isByWriter ? $0.writer : nil) }
    return [.report(.undecodable(error, lastCommit: lastCommit, isDefault: shown.base == .defaultValue))]
  }

  // MARK: -

  /// Whether an answer is at least as new as the verified version.
  func isNewer(_ stored: StoredValue) -> Bool {
    guard let verified = lastVerified.meta else { return true }
    guard let meta = stored.meta else { return false }
    switch Kinship(of: meta, to: verified) {
    case .descendant: return true
    case .same: return stored.content == lastVerified.content
    case .ancestor, .fork: return false
    }
  }

  /// Compares the stored value with the verified version.
  ///
  /// - Parameter isFirst: Whether this is the first news of a connection, so that the server may be another one.
  mutating func compare(_ stored: StoredValue, isFirst: Bool = false, vitals: Vitals) -> [Action] {
    verified.raiseFloor(to: stored.revision)
    verified.decideMeta(by: stored.meta)
    // The repair for this stored value is under way already.
    let underWay = isCommitUnderWay ? repairUnderWay : nil
    if stored == underWay?.stored || stored == online?.repairs.repair?.stored {
      online?.repairs.takeAbsence()
      return []
    }
    if dependsOnVitals(stored, vitals) {
      online?.repairs.wait(
        for: RepairState.Absence(stored: stored, isFirst: isFirst, verifiedChanges: verified.changes)
      )
      return [.count]
    }
    return judge(stored, isFirst, vitals)
  }

  /// Whether the verdict depends on a loss or an eviction that the server may not have reported yet.
  private func dependsOnVitals(_ stored: StoredValue, _ vitals: Vitals) -> Bool {
    guard let evictions = vitals.evictions else { return false }
    switch stored.content {
    case .oversized, .otherType: return false
    case .document, .absent: break
    }
    // A service that finds nothing, and has never verified anything, has nothing to lose.
    if lastVerified.meta == nil, stored.meta == nil { return evictions == 0 && stored.content != .absent }
    let isGone = stored.content == .absent && stored.meta?.kind != .deleted
    guard stored.meta == nil || isGone || deniesMessage(stored), lastVerified.restorable != nil else { return false }
    return lastVerified.sighting.map { vitals.isUnmoved(since: $0) } ?? false
  }

  /// Whether the stored version is older than the verified one, which only a message has shown. Another history may have
  /// begun where a client has removed the meta.
  private func deniesMessage(_ stored: StoredValue) -> Bool {
    guard lastVerified.isOnlyAnnounced, let meta = stored.meta, let known = lastVerified.meta else { return false }
    return Kinship(of: meta, to: known) == .ancestor
  }

  private mutating func judge(
    _ stored: StoredValue,
    _ isFirst: Bool,
    _ vitals: Vitals?
  ) -> [Action] {
    online?.repairs.takeAbsence()
    let evidence = Evidence(
      stored: stored,
      verified: lastVerified,
      memory: verified.memory,
      vitals: vitals,
      isFirst: isFirst,
      grace: online?.repairs.wait.flatMap { $0.isOver && $0.stored == stored ? $0.grace : nil }
    )
    let verdict = adapted(evidence.verdict, to: stored)
    if case .wait = verdict {} else { online?.repairs.stopWaiting() }
    return act(on: verdict, stored, vitals)
  }

  private func isOlderThanGone(_ stored: StoredValue) -> Bool {
    guard lastVerified.restorable == nil, let meta = stored.meta, stored.document != nil, confirmed.content == .absent,
      meta.revision < confirmed.revision
    else { return false }
    return confirmed.meta.map { !meta.lineage.covers($0.version) } ?? true
  }

  /// Whether a lost version may be restored, by the key's policy.
  private var mayRestore: Bool { policy.dataLoss != .adoptServer && online?.circumstances.mayRestore ?? true }

  /// Whether this service may make repairs, as far as is known.
  private var mayRepair: Bool { policy.access == .readWrite && online?.repairs.isPermitted ?? true }

  /// The verdict as the key's policy and the service's rights allow it.
  private func adapted(_ verdict: Verdict, to stored: StoredValue) -> Verdict {
    // A later version is gone for good. The older one that another service has restored is adopted with a revision
    // above it.
    let isOlder = verdict == .follow && mayRestore && isOlderThanGone(stored)
    let verdict = adaptedToPolicy(isOlder ? .adopt : verdict, stored)
    if !mayRepair {
      switch verdict {
      case .restore, .rewrite, .wait(.antiEntropy): return .leave
      case .merge: return .follow
      case .adopt: return .show
      case .follow, .disbelieve, .show, .leave, .wait(.moment): break
      }
    }
    // What the program has requested must not wait for a whole anti-entropy interval.
    if verdict == .wait(.antiEntropy), isWanted {
      return online?.repairs.wait?.isOver ?? false ? .rewrite : .wait(.moment)
    }
    // A later version was confirmed and is gone. Restoring the verified one would go back, so it gets a new revision.
    let isLater = confirmed.revision > lastVerified.revision
    if verdict == .restore, isLater, stored.document == nil, lastVerified.content.document != nil { return .rewrite }
    return verdict
  }

  private func adaptedToPolicy(_ verdict: Verdict, _ stored: StoredValue) -> Verdict {
    switch verdict {
    case .restore, .rewrite, .wait(.antiEntropy):
      let isDeleted = policy.dataLoss == .adoptServer && stored.isGone && stored.meta?.expiry == 0
      // A document that has lost its revision is adopted.
      let isUnversioned = stored.meta == nil && stored.document != nil
      if !mayRestore { return (isDeleted || isUnversioned) && policy.detectsForeignEdits ? .adopt : .follow }
    case .merge: if !mayRestore { return stored.meta == nil ? .adopt : .follow }
    // The edit is shown. It stays without a revision of its own for as long as a meta is stored beside it.
    case .adopt: if !policy.detectsForeignEdits, stored.meta != nil || lastVerified.meta == nil { return .follow }
    case .follow, .disbelieve, .show, .leave, .wait(.moment): break
    }
    return verdict
  }

  private mutating func act(on verdict: Verdict, _ stored: StoredValue, _ vitals: Vitals?) -> [Action] {
    switch verdict {
    case .follow:
      let isLoss =
        lastVerified.meta.map { verified in stored.meta.map { !$0.lineage.covers(verified.version) } ?? true } ?? false
      return (isLoss ? reportLoss(of: stored) : []) + follow(stored, vitals)
    case .disbelieve:
      online?.doubtsMessages = true
      let announced = lastVerified.revision
      return [.report(.neverStored(announced: announced, stored: stored.revision))] + follow(stored, vitals)
    case .show:
      online?.repairs.drop()
      return show(stored)
    case .leave:
      online?.repairs.drop()
      // An edit that is shown was evicted before it had a revision.
      let isEdited = lastVerified.restorable == nil && confirmed.content != .absent
      if isEdited, stored.content == .absent { return show(stored) }
      confirmed.compare(with: stored)
      return []
    case .adopt:
      let isLoss = stored.revision < lastVerified.revision && stored.content != confirmed.content
      let actions = (isLoss ? reportLoss(of: stored) : []) + show(stored)
      online?.repairs.plan(.adopt, of: stored)
      return actions
    case .restore:
      // An edit may have been shown meanwhile, and was evicted with the rest.
      let isShown = confirmed.state == State(revision: lastVerified.revision, content: lastVerified.content)
      let actions = isShown ? [] : confirm(lastVerified.content, lastVerified.revision, lastVerified.meta)
      online?.repairs.plan(.restore, of: stored)
      guard !isShown else { return reportLoss(of: stored) }
      // The box has the verified version if it was made here and no other state was shown since.
      if shown.isMadeHere(lastVerified) { shown.markReflected() }
      return reportLoss(of: stored) + actions
    case .merge:
      online?.repairs.plan(.merge, of: stored)
      guard case .ask(let version) = fork(from: stored, mayAsk: true) else { return reportLoss(of: stored) }
      online?.repairs.ask(for: version)
      return reportLoss(of: stored) + [.readBase(version)]
    case .rewrite:
      online?.repairs.plan(.rewrite, of: stored)
      return reportLoss(of: stored)
    case .wait(let grace):
      online?.repairs.drop()
      let actions = stored.document == nil ? [] : show(stored)
      return online?.repairs.wait(grace, for: stored) ?? false ? actions + [.wait(grace)] : actions
    }
  }

  /// Takes the stored value as the verified version, and shows it.
  mutating func follow(_ stored: StoredValue, _ vitals: Vitals?) -> [Action] {
    online?.repairs.drop()
    verified.add(stored.meta, stored.content, vitals)
    if stored.meta == nil, policy.dataLoss != .adoptServer { return show(stored) }
    let isKnown = stored.revision == confirmed.revision && stored.content == confirmed.content && unreadable == nil
    guard isKnown else { return confirm(stored.content, stored.revision, stored.meta) }
    confirmed.take(stored.content, at: stored.revision, stored.meta)
    return []
  }

  /// Shows the stored value without making it the verified version, because it has no revision of its own.
  mutating func show(_ stored: StoredValue) -> [Action] {
    let revision = max(stored.revision, confirmed.revision)
    guard stored.content != confirmed.content || unreadable != nil || stored.revision > confirmed.revision else {
      confirmed.compare(with: stored)
      return []
    }
    let actions = confirm(stored.content, revision, stored.meta)
    confirmed.placeBeside(stored.meta)
    return actions
  }

  private func reportLoss(of stored: StoredValue) -> [Action] {
    guard lastVerified.meta != nil else { return [] }
    return [.report(.lostHistory(confirmed: lastVerified.revision, stored: stored.revision))]
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
    if revision > confirmed.revision { online?.repairs.drop() }
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
    let isReplaced = content == .absent && confirmed.meta?.isForeign ?? false
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
