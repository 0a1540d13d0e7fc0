import Foundation

/// The server's answers to commits.
extension Replica {
  /// The server has replied to a commit.
  ///
  /// - Parameter vitals: The server's vitals as reported last, before this reply.
  mutating func committed(
    _ reply: CommitReply,
    operation: Operation,
    vitals: Vitals = Vitals()
  ) -> [Action] {
    guard let commit = inFlight, commit.operation == operation else { return [] }
    outgoing = .nothing
    online?.refusal = nil
    switch reply {
    case .committed(let revision, let parent, let shortfall):
      // The server refuses older operations of this service from now on. It does not remember restorations.
      if !commit.isRestoring { hasUndecided = false }
      let actions: [Action] = shortfall.map { [.report(.incomplete($0))] } ?? []
      return actions + accepted(commit, revision, parent, vitals) + advance()
    case .conflict(let stored, let hasForgotten): return conflicted(commit, stored, hasForgotten, vitals) + advance()
    case .held: return held(commit) + advance()
    case .wrongType(let type):
      giveUp(commit)
      confirmed.found(otherType: type)
      let error = RedisSharedStateError.wrongType(type, name: name)
      return hold(unreadable: error) + putBack(commit, error) + advance()
    }
  }

  /// - Parameter made: The stored meta that shows the commit's effect; `nil` if only the reply shows it.
  private mutating func accepted(
    _ commit: OutstandingCommit,
    _ revision: Revision,
    _ parent: Revision,
    _ vitals: Vitals,
    made: Meta? = nil
  ) -> [Action] {
    verified.raiseFloor(to: revision)
    if case .repair(let repair) = commit.purpose { return repaired(repair, commit, revision, parent) }
    // After the largest revision the next one is smaller. Only a read shows what came in between.
    var actions: [Action] = revision < parent ? [.read] : []
    if policy.replicas.isWanted { actions.append(.acknowledged(revision, isWritten: !commit.isInterrupted)) }
    func isLatest(beside known: Revision) -> Bool { revision >= known || parent == known }
    // A version read after a lost reply is newer than the commit's, even one with the same revision.
    let isSame = revision == lastVerified.revision
    let isOvertaken =
      commit.isInterrupted
      && (!isLatest(beside: lastVerified.revision) || isSame && commit.content != lastVerified.content)
    // A document that was evicted before anyone read it is known to its author. One with an expiry most likely expired.
    let isGone =
      isOvertaken && lastVerified.restorable == nil && lastVerified.meta?.kind == .set
      && (lastVerified.meta?.expiry == 0 || !isUnmoved(since: commit, vitals))
    let isKnown = isSame && (commit.content == lastVerified.content || isGone)
    let seen = isGone ? includedMeta(commit, revision, parent) : nil
    let isCertain = made != nil || !commit.isRedrafted || isKnown || seen != nil
    let made = made ?? (isKnown ? lastVerified.meta : nil) ?? seen ?? madeMeta(commit, revision, parent)
    if isLatest(beside: lastVerified.revision) && !isOvertaken || isGone {
      verified.add(made, commit.content, commit.sighting)
      if !isCertain {
        // An earlier sending may have made it, with the lineage of that.
        verified.note(alternatives: madeMetas(commit, revision, parent).filter { $0 != made })
        actions.append(.read)
      }
    }
    if isGone { actions.append(.read) }
    let isRead = commit.isInterrupted && revision == confirmed.revision && commit.content != confirmed.content
    let isNewest = isLatest(beside: confirmed.revision) && !isRead
    if isNewest {
      confirmed.take(commit.content, at: revision, made, isMetaCertain: isExpiryCertain, isByWriter: isCertain)
      shown.markUnknown()
      if policy.timeToLive > 0, commit.content != .absent {
        actions.append(.readLater(milliseconds: policy.timeToLive))
      }
    }
    switch commit.purpose {
    case .change(let stamp, let encoded, _):
      shown.reflect(
        encoded,
        stored: commit.content.document,
        at: revision,
        isReflected: commit.isReflected,
        unreadableMembers: commit.unreadableMembers
      )
      if isNewest, commit.isReflected {
        shown.markReflected()
      } else {
        // The box showed the state before this change.
        shown.markUnknownIfReflected()
      }
      return actions + saved() + finish(commit.waiters) + settle(stamp: stamp)
    case .reset(let stamp):
      // A change made after the reset is a change of the default value.
      shown.reflect(.defaultValue, at: revision)
      // The box still has the value from before the reset.
      shown.markUnknownIfReflected()
      outcomes.finish(commit.waiters.save.sorted())
      return actions + saved() + resume(commit.waiters.flush.sorted(), nil) + settle(stamp: stamp)
    case .updates, .repair:
      outcomes.finish(commit.updates)
      return actions
    }
  }

  /// A restoration, an adoption or a merge has taken effect, or a version was written back with a higher revision.
  private mutating func repaired(
    _ repair: RepairState.Repair,
    _ commit: OutstandingCommit,
    _ revision: Revision,
    _ parent: Revision
  ) -> [Action] {
    switch repair.kind {
    case .restore:
      guard revision == lastVerified.revision, let meta = restoredMeta(over: repair.stored) else { return [] }
      verified.restored(meta, commit.sighting)
      if revision == confirmed.revision { confirmed.take(confirmed.content, at: revision, meta) }
      return [.report(.restored(revision))]
    case .adopt:
      // The message carries the adopted document, unless it is lost or still on its way.
      if confirmed.revision == revision { return [.report(.adopted(revision))] }
      online?.repairs.adopted(revision, read: outstandingReads.nextRead)
      return [.report(.adopted(revision)), .read]
    case .merge, .rewrite:
      let reports = reports(of: commit, repair, revision)
      guard revision > lastVerified.revision, !commit.isRedrafted else { return reports + [.read] }
      let meta = madeMeta(commit, revision, parent)
      verified.add(meta, commit.content, commit.sighting)
      var actions: [Action] = []
      if revision >= confirmed.revision {
        actions += confirm(commit.content, revision, meta)
      }
      // Only the server knows whether and when it expires.
      confirmed.doubtExpiry()
      return reports + actions
    }
  }

  /// What a merge has done with the verified version, or with one that was written back.
  private mutating func reports(
    of commit: OutstandingCommit,
    _ repair: RepairState.Repair,
    _ revision: Revision
  ) -> [Action] {
    guard repair.kind == .merge else { return [.report(.restored(revision))] }
    let merged: [Action] = commit.loss == .whole ? [] : [.report(.merged(revision))]
    guard let loss = commit.loss else { return merged }
    let lost = lastVerified.meta
    let report = Incident.unmerged(lost: lastVerified.revision, stored: repair.stored.revision, loss)
    guard lost?.isMade(by: policy.writer) ?? false else { return merged + [.report(report)] }
    reports.saveFailed()
    let documents = (lastVerified.content.document, repair.stored.document)
    let error = RedisSharedStateError.conflict(name: name, local: documents.0, stored: documents.1)
    return merged + [.report(report), .status(.saveError(error))]
  }

  /// The meta made by a commit that was sent with several lineages, if a later version includes one of them.
  private func includedMeta(_ commit: OutstandingCommit, _ revision: Revision, _ parent: Revision) -> Meta? {
    madeMetas(commit, revision, parent).first { lastVerified.meta?.lineage.names($0.version) ?? false }
  }

  /// The metas that a commit may have made: one for each lineage that it was sent with.
  private func madeMetas(_ commit: OutstandingCommit, _ revision: Revision, _ parent: Revision) -> [Meta] {
    commit.lineages.map { lineage in
      var meta = madeMeta(commit, revision, parent)
      meta.lineage = lineage.made(revision)
      return meta
    }
  }

  private func madeMeta(_ commit: OutstandingCommit, _ revision: Revision, _ parent: Revision) -> Meta {
    Meta(
      revision: revision,
      parent: parent,
      kind: commit.content == .absent ? .deleted : .set,
      expiry: commit.content == .absent ? 0 : expectedExpiry(of: revision),
      writer: policy.writer,
      lineage: commit.lineage?.made(revision)
    )
  }

  private mutating func conflicted(
    _ commit: OutstandingCommit,
    _ stored: StoredValue,
    _ hasForgotten: Bool,
    _ vitals: Vitals
  ) -> [Action] {
    let known = [stored.meta, lastVerified.meta].compactMap { $0 }
    if !hasUndecided, let made = known.first(where: { commit.hasMade($0, writer: policy.writer) }) {
      // This is our own version: the commit took effect, and the server that has it now, or has lost it since, has not
      // kept its operation.
      return accepted(commit, made.revision, made.parent, vitals, made: made)
        + compare(stored, vitals: vitals)
    }
    var isUnread = false
    // The answer leaves out the document, but a read may bring it.
    if case .oversized(let bytes) = stored.content { isUnread = bytes <= policy.maximumBytes }
    let isOutdated = isUnread || commit.verifiedChanges != verified.changes && !isNewer(stored)
    let actions = isOutdated ? [.read] : compare(stored, vitals: vitals)
    switch commit.purpose {
    case .repair(let refused):
      guard !isOutdated, refused.kind == .restore, refused.stored == stored else { return actions }
      // The lost version has expired by now. If nothing is stored, there is nothing to announce.
      if stored.meta == nil, stored.content == .absent { return follow(stored, vitals) }
      // The version left on the server counts once it has a revision.
      let actions = show(stored)
      online?.repairs.plan(.adopt, of: stored)
      return actions
    case .updates:
      guard isDecided(commit, by: stored, hasForgotten, vitals) else {
        return actions + resume(commit.updates, .outcomeUnknown(name: name))
      }
      pending.putBack(updates: commit.updates)
      return actions
    case .reset(let stamp):
      pending.putBack(resetUpTo: stamp, commit.waiters)
      return actions
    case .change(let stamp, let encoded, let isReplacement):
      if isReplacement {
        pending.change()
        let error = RedisSharedStateError.conflict(name: name, local: encoded, stored: stored.document)
        reports.saveFailed()
        return actions + [.status(.saveError(error))] + finish(commit.waiters, error)
      }
      // A version after the largest revision has a smaller one.
      let isLater = stored.revision >= commit.expected || stored.revision != .none && commit.expected == .largest
      guard policy.conflict.rollsBack, isLater else { return actions + putBack(commit, nil) }
      return actions + rollBack(stamp: stamp, commit.waiters, local: encoded, stored: stored.document)
    }
  }

  /// The value is reserved for another writer, so the commit has had no effect. What it carries is committed later, with
  /// what is changed until then.
  private mutating func held(_ commit: OutstandingCommit) -> [Action] {
    if commit.isInterrupted {
      // An earlier sending may have taken effect, and only its operation shows that.
      var commit = commit
      commit.isSent = false
      outgoing = .commit(commit)
      return []
    }
    if case .repair(let repair) = commit.purpose { online?.repairs.plan(again: repair) }
    return putBack(commit, nil)
  }

  /// A caller has stopped waiting for a change that came too late each time. It stays pending.
  mutating func outpaced(_ error: RedisSharedStateError) -> [Action] {
    guard hasPendingChange else { return [] }
    reports.saveFailed()
    return [.status(.saveError(error))]
  }

  /// Whether the stored value proves that a commit has not taken effect.
  private func isDecided(
    _ commit: OutstandingCommit,
    by stored: StoredValue,
    _ hasForgotten: Bool,
    _ vitals: Vitals
  ) -> Bool {
    guard commit.isInterrupted else { return true }
    let isSameServer =
      commit.runID != nil && commit.runID == online?.circumstances.runID
      && commit.sighting.map { vitals.continues($0) } ?? false
    // The version that it has made may be gone together with the list of operations. An older version that is restored
    // then begins another list.
    let mayBeEvicted = vitals.evictions != commit.sighting?.evictions
    // Another document was written where nothing was stored, and no key was evicted since.
    let isWrittenOver = stored.content != .absent && vitals.evictions != nil && isUnmoved(since: commit, vitals)
    // The script finds remembered operations by the order of revisions, which ends at the largest one.
    let isOrdered = commit.expected < .largest
    return (stored.meta != nil || isWrittenOver) && isSameServer && !hasForgotten && !mayBeEvicted && isOrdered
  }

  /// Whether the server has lost nothing since a commit was sent first.
  private func isUnmoved(since commit: OutstandingCommit, _ vitals: Vitals) -> Bool {
    commit.sighting.map { vitals.isUnmoved(since: $0) } ?? false
  }

  /// Lets the local changes up to the stamp yield to a remote change.
  mutating func rollBack(stamp: UInt64, _ waiters: Waiters, local: Data, stored: Data?) -> [Action] {
    rollBack(stamp: stamp, waiters, .conflict(name: name, local: local, stored: stored))
  }

  /// Discards the local changes up to the stamp. The box shows the confirmed state again.
  mutating func rollBack(stamp: UInt64, _ waiters: Waiters, _ error: RedisSharedStateError) -> [Action] {
    let givenUp = giveUp(stamp: stamp, error)
    var waiters = waiters
    // They were requested after the snapshot, and include its change.
    waiters.save.formUnion(pending.takeAllSaves())
    if waiters.all.isEmpty { reports.discard(error) }
    pending.append(updates: waiters.updates)
    outcomes.yield(failures(of: waiters, givenUp: error))
    if let commit = inFlight, case .change(_, let encoded, _) = commit.purpose, pending.reset == nil {
      // The change before them is still to be sent or answered. From now on it is the last one in the box, on the same
      // base as before: what it was merged with is shown once it is acknowledged.
      outgoing.commit?.include(stamp: stamp)
      shown.revert(to: State(revision: shown.baseRevision, content: .document(encoded)), stamp)
      return givenUp
    }
    if unreadable != nil || pending.reset != nil || inFlight?.isLocalChange ?? false {
      // The confirmed state cannot be shown, or is about to be deleted.
      shown.revert(stamp)
    } else {
      shown.discard(stamp)
    }
    return givenUp + settle(stamp: stamp)
  }

  /// Queues the content of a commit that has not taken effect, to be committed later in another form.
  ///
  /// - Parameter error: Why it cannot be committed until a person changes something. Atomic updates fail with it.
  mutating func putBack(_ commit: OutstandingCommit, _ error: RedisSharedStateError?) -> [Action] {
    switch commit.purpose {
    case .change(let stamp, _, _):
      pending.putBack(changeUpTo: stamp, commit.waiters)
      return []
    case .reset(let stamp):
      pending.putBack(resetUpTo: stamp, commit.waiters)
      return []
    case .updates:
      if let error { return refuse(commit, error) }
      pending.putBack(updates: commit.updates)
      return []
    case .repair:
      return []
    }
  }

  /// Fails the atomic updates. A refusal does not show whether an earlier sending of the commit has taken effect.
  private func refuse(_ commit: OutstandingCommit, _ error: RedisSharedStateError) -> [Action] {
    resume(commit.updates, commit.isInterrupted ? .outcomeUnknown(name: name) : error)
  }

  /// The server refused a commit. A local change is tried again later, unchanged. Any other commit is given up, unless
  /// the reason passes by itself: then its waiters continue to wait, too.
  mutating func commitRefused(_ error: RedisSharedStateError, operation: Operation) -> [Action] {
    guard var commit = inFlight, commit.operation == operation else { return [] }
    online?.refusal = error.isTransient ? error : nil
    if error.isTransient, !commit.isRepair {
      commit.isSent = false
      online?.isPausing = true
      outgoing = .commit(commit)
      if commit.isLocalChange { reports.saveFailed() }
      return (commit.isLocalChange ? [.status(.saveError(error))] : []) + advance() + [.retryLater]
    }
    switch commit.purpose {
    case .repair(let repair):
      giveUp(commit)
      guard !error.isPermanent else {
        // Another service will make the repair. The stored value is shown.
        online?.repairs.forbid()
        return [.read] + advance()
      }
      online?.repairs.plan(again: repair)
      online?.isPausing = true
      return advance() + [.retryLater]
    case .updates:
      giveUp(commit)
      return refuse(commit, error) + advance()
    case .reset(let stamp):
      giveUp(commit)
      return resume(commit.waiters.all, error) + settle(stamp: min(stamp, pending.settledStamp)) + advance()
    case .change:
      commit.isSent = false
      online?.isPausing = true
      reports.saveFailed()
      // Waiters for a later snapshot and updates fail as well: they would have to wait behind this change.
      let waiting = commit.waiters.takeAll() + pending.takeWaiters()
      let refused = waiting + pending.takeUpdates() + commit.waiters.takeUpdates() + pending.takeLaterUpdates()
      outgoing = .commit(commit)
      return [.status(.saveError(error))] + resume(refused, error) + advance() + [.retryLater]
    }
  }

  /// The server refuses requests for this value. Fails all waiters, unless the reason passes by itself. Local changes
  /// are kept, and sent once the server accepts them.
  ///
  /// - Parameter isUnread: Whether the server refuses reads as well.
  mutating func refused(_ error: RedisSharedStateError, isUnread: Bool) -> [Action] {
    var actions: [Action] = []
    if isUnread {
      // A service that may not read the value does not overwrite it.
      if phase == .live { online?.phase = .reading }
      reports.loadStatusChanged()
      actions += [.status(.loading(false)), .status(.loadError(error))]
      online?.refusalToRead = error.isTransient ? error : nil
      if error.isTransient {
        guard hasPendingChange else { return actions }
        reports.saveFailed()
        return actions + [.status(.saveError(error))]
      }
      actions += resume(outstandingReads.takeLoads(), error)
    }
    var refused = pending.takeWaiters() + pending.takeLaterUpdates() + pending.takeUpdates()
    if let commit = inFlight, !commit.isSent {
      refused += (outgoing.commit?.waiters.takeAll() ?? []) + (outgoing.commit?.waiters.takeUpdates() ?? [])
      // Updates that may have taken effect continue to wait for the server's answer.
      if !commit.updates.isEmpty, !commit.isInterrupted {
        refused += commit.updates
        giveUp(commit)
      }
    }
    refused += pending.takeVerified()
    let reset = pending.takeReset()
    // A reset is not kept for later, so that only its waiters have the error.
    if hasPendingChange {
      reports.saveFailed()
      actions.append(.status(.saveError(error)))
    }
    if let reset {
      let stamp = min(reset.stamp, pending.settledStamp)
      return actions + resume(refused + reset.waiters.all, error) + settle(stamp: stamp)
    }
    return actions + resume(refused, error)
  }

  /// The pause after a refusal is over.
  mutating func retry() -> [Action] {
    online?.isPausing = false
    return advance()
  }

  /// A snapshot is saved. Resumes its waiters, except those of a flush if a reset is still to be committed.
  mutating func finish(_ waiters: Waiters) -> [Action] {
    guard pending.reset != nil else { return finish(waiters, nil) }
    var finished = waiters
    pending.flush(afterReset: finished.flush)
    finished.flush = []
    return finish(finished, nil)
  }

  /// A snapshot is saved or has failed. Resumes its waiters, and lets the updates run that had to come after it.
  mutating func finish(_ waiters: Waiters, _ error: RedisSharedStateError?) -> [Action] {
    pending.append(updates: waiters.updates)
    return resume(waiters.all, error)
  }

  /// A snapshot was given up. Resumes its waiters with the error, and lets the updates run that had to come after it.
  mutating func finish(_ waiters: Waiters, givenUp error: RedisSharedStateError) -> [Action] {
    pending.append(updates: waiters.updates)
    return failures(of: waiters, givenUp: error).flatMap { resume($0.waiters, $0.error) }
  }

  /// Gives up the local changes up to the stamp, and reports it once for each stamp.
  mutating func giveUp(stamp: UInt64, _ error: RedisSharedStateError) -> [Action] {
    reports.gaveUp(stamp, error) ? [.status(.saveError(error)), .report(.gaveUp(error))] : [.status(.saveError(error))]
  }

  /// The errors of a change that was given up: the reason for each save, and the name of the value for each flush.
  private func failures(
    of waiters: Waiters,
    givenUp error: RedisSharedStateError
  ) -> [(waiters: [UInt64], error: RedisSharedStateError)] {
    [(waiters.save.sorted(), error), (waiters.flush.sorted(), .changesGivenUp(names: [name], further: 0))]
  }

  /// Marks the local changes up to the stamp as settled.
  mutating func settle(stamp: UInt64) -> [Action] {
    pending.settle(stamp)
    return hasPendingChange ? [] : [.settled]
  }

  /// The value is saved. Clears the save error, if there is one.
  mutating func saved() -> [Action] {
    reports.saved() ? [.status(.saveError(nil))] : []
  }
}
