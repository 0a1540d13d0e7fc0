import Foundation

/// What the server answers to a commit.
extension Replica {
  /// The reply to a commit.
  ///
  /// - Parameter vitals: How the server was when it was asked last, before this reply.
  package mutating func committed(
    _ reply: CommitReply,
    operation: Operation,
    vitals: Vitals = Vitals()
  ) -> [Action] {
    guard inFlight?.operation == operation, let job = inFlight.take() else { return [] }
    switch reply {
    case .committed(let revision, let parent):
      // The server refuses what is older than that. It does not remember restorings.
      if !job.isRestoring { hasUndecided = false }
      return accepted(job, revision, parent, vitals) + advance()
    case .conflict(let stored, let hasForgotten): return conflicted(job, stored, hasForgotten, vitals) + advance()
    case .wrongType(let type):
      giveUp(job)
      confirmed.content = .otherType(type)
      let error = RedisSharedStateError.wrongType(type, name: name)
      return hold(unreadable: error) + putBack(job, error) + advance()
    }
  }

  /// - Parameter made: The meta that was seen beside what it has made; `nil`: only the reply tells.
  private mutating func accepted(
    _ job: Job,
    _ revision: Revision,
    _ parent: Revision,
    _ vitals: Vitals,
    made: Meta? = nil
  ) -> [Action] {
    raiseFloor(to: revision)
    if case .repair(let repair) = job.purpose { return mended(repair, job, revision, parent) }
    // Behind the largest number the next one is smaller, and what was read in between can tell only by being read.
    var actions: [Action] = revision < parent ? [.read] : []
    func isLatest(beside known: Revision) -> Bool { revision >= known || parent == known }
    // What was read after a lost reply is newer than what the commit has made, also of the same revision.
    let isSame = revision == held.revision
    let isOvertaken =
      job.isInterrupted && (!isLatest(beside: held.revision) || isSame && job.content != held.content)
    // What was thrown away before anybody had read it, its author has. What expires has done so, most likely.
    let isGone =
      isOvertaken && held.restorable == nil && held.meta?.kind == .set
      && (held.meta?.expiry == 0 || vitals != job.sighting)
    let isKnown = isSame && (job.content == held.content || isGone)
    let seen = isGone ? includedMeta(job, revision, parent) : nil
    let isCertain = made != nil || !job.isRedrafted || isKnown || seen != nil
    let made = made ?? (isKnown ? held.meta : nil) ?? seen ?? madeMeta(job, revision, parent)
    if !isCertain {
      // It may have been made by what was sent first, and with what that included.
      actions.append(.read)
    } else if isLatest(beside: held.revision) && !isOvertaken || isGone {
      hold(made, job.content, job.sighting)
    }
    if isGone { actions.append(.read) }
    let isRead = job.isInterrupted && revision == confirmed.revision && job.content != confirmed.content
    let isNewest = isLatest(beside: confirmed.revision) && !isRead
    if isNewest {
      confirmed = State(revision: revision, content: job.content)
      (left, news) = (nil, isCertain ? nil : News(after: questions, vitals: job.sighting ?? vitals, isOwn: true))
      meta = made
      isMetaCertain = isExpiryCertain
      sight = .unknown
      if policy.timeToLive > 0, job.content != .absent {
        actions.append(.readLater(milliseconds: policy.timeToLive))
      }
    }
    switch job.purpose {
    case .change(let stamp, let encoded, _):
      reflect(.encoded(encoded, stored: job.content.document ?? encoded), at: revision)
      reflected = job.isReflected ? job.content.document : nil
      if isNewest, job.isReflected {
        sight = .reflected
      } else if sight == .reflected {
        // It was what the box had before this change.
        sight = .unknown
      }
      return actions + saved() + finish(job.waiters) + settle(stamp: stamp)
    case .reset(let stamp):
      // What was changed after it is a change of the default.
      reflect(.defaultValue, at: revision)
      // The box still has what was changed before.
      if sight == .reflected { sight = .unknown }
      finished += job.waiters.save.sorted()
      return actions + saved() + resume(job.waiters.flush.sorted(), nil) + settle(stamp: stamp)
    case .updates, .repair:
      finished += job.updates
      return actions
    }
  }

  /// What a restoring, an adoption, a merge or a giving back has come to.
  private mutating func mended(_ repair: Repair, _ job: Job, _ revision: Revision, _ parent: Revision) -> [Action] {
    switch repair.kind {
    case .restore:
      guard revision == held.revision, let meta = restoredMeta(over: repair.stored) else { return [] }
      held = Held(meta, held.content, seenWith: job.sighting)
      if revision == confirmed.revision { (left, self.meta, isMetaCertain) = (nil, meta, true) }
      return [.report(.restored(revision))]
    case .adopt:
      // What was adopted is in the message, unless that is lost or still on its way.
      guard confirmed.revision != revision || news != nil else {
        return [.report(.adopted(revision))]
      }
      adopted = (revision, sentReads + 1)
      return [.report(.adopted(revision)), .read]
    case .merge, .giveBack:
      guard revision > held.revision, !job.isRedrafted else { return [.report(.merged(revision)), .read] }
      let meta = madeMeta(job, revision, parent)
      hold(meta, job.content, job.sighting)
      var actions: [Action] = []
      if revision >= confirmed.revision {
        news = nil
        actions += confirm(job.content, revision, meta)
      }
      // Whether it expires, and when, only the server knows.
      isMetaCertain = false
      return [.report(.merged(revision))] + actions
    }
  }

  /// What a commit that was sent with two lineages has made, where what came after it includes one of them.
  private func includedMeta(_ job: Job, _ revision: Revision, _ parent: Revision) -> Meta? {
    let metas = [job.earlierLineage, job.lineage].compactMap(\.self).map { lineage in
      var meta = madeMeta(job, revision, parent)
      meta.lineage = lineage.made(revision)
      return meta
    }
    return metas.first { held.meta?.lineage.names($0.version) ?? false }
  }

  private func madeMeta(_ job: Job, _ revision: Revision, _ parent: Revision) -> Meta {
    Meta(
      revision: revision,
      parent: parent,
      kind: job.content == .absent ? .deleted : .set,
      expiry: job.content == .absent ? 0 : expectedExpiry(of: revision),
      writer: policy.writer,
      lineage: job.lineage?.made(revision)
    )
  }

  private mutating func conflicted(
    _ job: Job,
    _ stored: StoredValue,
    _ hasForgotten: Bool,
    _ vitals: Vitals
  ) -> [Action] {
    let known = [stored.meta, held.meta].compactMap { $0 }
    if !hasUndecided, let made = known.first(where: { job.hasMade($0, writer: policy.writer) }) {
      // It is our own: it took effect, and the server that has it now, or has lost it since, has not kept its operation.
      return accepted(job, made.revision, made.parent, vitals, made: made)
        + look(at: stored, question: job.question, vitals: vitals)
    }
    var isUnread = false
    // The answer does not bring it, and its reader may.
    if case .oversized(let bytes) = stored.content { isUnread = bytes <= policy.maximumBytes }
    let isOutdated = isUnread || job.evidence != evidence && !isNewer(stored)
    let actions = isOutdated ? [.read] : look(at: stored, question: job.question, vitals: vitals)
    switch job.purpose {
    case .repair(let refused):
      guard refused.kind == .restore, refused.stored == stored, news == nil else { return actions }
      // What was lost has expired by now. Of nothing nobody need be told.
      if stored.meta == nil, stored.content == .absent { return follow(stored, vitals) }
      // What the server has left is what counts, once it has a revision.
      let actions = show(stored)
      repair = Repair(kind: .adopt, stored: stored)
      return actions
    case .updates:
      guard isDecided(job, by: stored, hasForgotten, vitals) else {
        return actions + resume(job.updates, .outcomeUnknown(name: name))
      }
      updates = job.updates + updates
      return actions
    case .reset(let stamp):
      putBack(resetUpTo: stamp, job.waiters)
      return actions
    case .change(let stamp, let encoded, let isReplacement):
      if isReplacement {
        isDirty = true
        let error = RedisSharedStateError.conflict(name: name, local: encoded, stored: stored.document)
        hasSaveError = true
        return actions + [.saveError(error)] + finish(job.waiters, error)
      }
      // What comes behind the largest number has a smaller one.
      let isLater = stored.revision >= job.expected || stored.revision != .none && job.expected == .largest
      guard policy.conflict == .reject, isLater else { return actions + putBack(job, nil) }
      return actions + rollBack(stamp: stamp, job.waiters, local: encoded, stored: stored.document)
    }
  }

  /// Whether what is stored tells that a commit has not taken effect.
  private func isDecided(_ job: Job, by stored: StoredValue, _ hasForgotten: Bool, _ vitals: Vitals) -> Bool {
    guard job.isInterrupted else { return true }
    let isSameServer = job.runID != nil && job.runID == circumstances.runID
    // What was made of nothing, and has lost its revision since, cannot be told from what somebody wrote without one.
    let mayBeEvicted = job.expected == .none && vitals.evictions != job.sighting?.evictions
    // Something else was written where nothing was, and nothing was thrown away since.
    let isWrittenOver = stored.content != .absent && vitals.evictions != nil && vitals == job.sighting
    // What the script remembers it finds by the order of the numbers, which ends there.
    let isOrdered = job.expected < .largest
    return (stored.meta != nil || isWrittenOver) && isSameServer && !hasForgotten && !mayBeEvicted && isOrdered
  }

  /// The local changes up to the stamp yield to what others have done.
  mutating func rollBack(stamp: UInt64, _ waiters: Waiters, local: Data, stored: Data?) -> [Action] {
    rollBack(stamp: stamp, waiters, .conflict(name: name, local: local, stored: stored))
  }

  mutating func rollBack(stamp: UInt64, _ waiters: Waiters, _ error: RedisSharedStateError) -> [Action] {
    let told = giveUp(stamp: stamp, error)
    if sight == .reflected { sight = .unknown }
    updates += waiters.updates
    yielded += outcomes(of: waiters, givenUp: error)
    return told + settle(stamp: stamp)
  }

  /// What was not committed is to be committed later, in another form.
  ///
  /// - Parameter error: Why it cannot be committed without somebody's doing; updates end with it.
  mutating func putBack(_ job: Job, _ error: RedisSharedStateError?) -> [Action] {
    switch job.purpose {
    case .change(let stamp, _, _):
      putBack(changeUpTo: stamp, job.waiters)
      return []
    case .reset(let stamp):
      putBack(resetUpTo: stamp, job.waiters)
      return []
    case .updates:
      if let error { return refuse(job, error) }
      updates = job.updates + updates
      return []
    case .repair:
      return []
    }
  }

  mutating func putBack(changeUpTo stamp: UInt64, _ waiters: Waiters) {
    isDirty = true
    var waiting = waiters
    // What was to be kept before it is to be deleted now.
    if let reset, reset.stamp >= stamp { waiting.isSave = false }
    self.waiters.merge(waiting)
    // A reset is committed first now: who waits for both waits for this.
    self.waiters.flush.formUnion(reset?.waiters.flush ?? [])
    reset?.waiters.flush = []
  }

  /// Whether what an earlier connection had has taken effect, a refusal does not tell.
  private func refuse(_ job: Job, _ error: RedisSharedStateError) -> [Action] {
    resume(job.updates, job.isInterrupted ? .outcomeUnknown(name: name) : error)
  }

  private mutating func putBack(resetUpTo stamp: UInt64, _ waiters: Waiters) {
    var reset = self.reset ?? Reset(stamp: stamp, waiters: Waiters())
    reset.stamp = max(reset.stamp, stamp)
    reset.waiters.merge(waiters)
    self.reset = reset
  }

  /// The server refused a commit. A local change is tried again later, unchanged; everything else is given up.
  package mutating func commitRefused(_ error: RedisSharedStateError, operation: Operation) -> [Action] {
    guard var job = inFlight, job.operation == operation else { return [] }
    switch job.purpose {
    case .repair(let repair):
      giveUp(job)
      guard !error.isPermanent else {
        // Others will do it. What is stored is shown.
        mayMend = false
        return [.read] + advance()
      }
      (self.repair, absence) = (repair, nil)
      isPausing = true
      return advance() + [.retryLater]
    case .updates:
      giveUp(job)
      return refuse(job, error) + advance()
    case .reset(let stamp):
      giveUp(job)
      return resume(job.waiters.all, error) + settle(stamp: min(stamp, settledStamp)) + advance()
    case .change:
      job.isSent = false
      isPausing = true
      hasSaveError = true
      // Those who wait for a later snapshot, and updates, are told as well: they would have to wait behind this one.
      let refused = job.waiters.takeAll() + waiters.takeAll() + updates + job.waiters.updates + waiters.updates
      (updates, job.waiters.updates, waiters.updates) = ([], [], [])
      inFlight = job
      return [.saveError(error)] + resume(refused, error) + advance() + [.retryLater]
    }
  }

  /// The server does not do what is asked of it for this value. Tells everybody who waits; what was changed here is kept,
  /// and sent once the server takes it.
  ///
  /// - Parameter isUnread: Whether it does not even say what is stored.
  package mutating func refused(_ error: RedisSharedStateError, isUnread: Bool) -> [Action] {
    var actions: [Action] = []
    if isUnread {
      // Whoever may not see what is there does not write over it.
      if phase == .live { phase = .reading }
      hasLoadStatus = true
      let loading = loadWaiters.keys.sorted()
      loadWaiters = [:]
      actions += [.loading(false), .loadError(error)] + resume(loading, error)
    }
    var refused = waiters.takeAll() + waiters.updates + updates
    (waiters.updates, updates) = ([], [])
    if let inFlight, !inFlight.isSent {
      refused += (self.inFlight?.waiters.takeAll() ?? []) + inFlight.waiters.updates
      self.inFlight?.waiters.updates = []
    }
    refused += verification?.updates ?? []
    verification = nil
    if hasPendingChange {
      hasSaveError = true
      actions.append(.saveError(error))
    }
    if let reset {
      self.reset = nil
      return actions + resume(refused + reset.waiters.all, error) + settle(stamp: min(reset.stamp, settledStamp))
    }
    return actions + resume(refused, error)
  }

  /// The pause after a refusal is over.
  package mutating func retry() -> [Action] {
    isPausing = false
    return advance()
  }

  /// A snapshot is kept: tells those who waited for it, but for those who wait for everything while a reset is to follow.
  mutating func finish(_ waiters: Waiters) -> [Action] {
    guard reset != nil else { return finish(waiters, nil) }
    var told = waiters
    reset?.waiters.flush.formUnion(told.flush)
    told.flush = []
    return finish(told, nil)
  }

  /// A snapshot is dealt with: tells those who waited for it, and lets the updates run that had to come after it.
  mutating func finish(_ waiters: Waiters, _ error: RedisSharedStateError?) -> [Action] {
    updates += waiters.updates
    return resume(waiters.all, error)
  }

  /// The same, where it was given up.
  mutating func finish(_ waiters: Waiters, givenUp error: RedisSharedStateError) -> [Action] {
    updates += waiters.updates
    return outcomes(of: waiters, givenUp: error).flatMap { resume($0.waiters, $0.error) }
  }

  /// Local changes up to the stamp are not sent any more. Says so, once for each.
  mutating func giveUp(stamp: UInt64, _ error: RedisSharedStateError) -> [Action] {
    defer { (hasSaveError, givenUp) = (true, (stamp, error)) }
    return givenUp?.stamp == stamp ? [.saveError(error)] : [.saveError(error), .report(.gaveUp(error))]
  }

  /// Who waits for everything is told which value it was, and who waits for this one, why.
  private func outcomes(
    of waiters: Waiters,
    givenUp error: RedisSharedStateError
  ) -> [(waiters: [UInt64], error: RedisSharedStateError)] {
    [(waiters.save.sorted(), error), (waiters.flush.sorted(), .changesGivenUp(names: [name], further: 0))]
  }

  /// Local changes up to the stamp are dealt with.
  mutating func settle(stamp: UInt64) -> [Action] {
    settledStamp = max(settledStamp, stamp)
    return hasPendingChange ? [] : [.settled]
  }

  /// The value is kept: says so, if it was said that it is not.
  mutating func saved() -> [Action] {
    defer { (hasSaveError, givenUp) = (false, nil) }
    return hasSaveError ? [.saveError(nil)] : []
  }
}
