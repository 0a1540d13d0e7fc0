import Foundation

/// What the server answers to a commit.
extension Replica {
  /// The reply to a commit.
  package mutating func committed(_ reply: CommitReply, operation: Operation) -> [Action] {
    guard inFlight?.operation == operation, let job = inFlight.take() else { return [] }
    switch reply {
    case .committed(let revision, let parent):
      // The server refuses what is older than that. It does not remember restorings.
      if case .repair(.restore) = job.purpose {} else { hasUndecided = false }
      return accepted(job, revision, parent) + advance()
    case .conflict(let stored, let hasForgotten): return conflicted(job, stored, hasForgotten) + advance()
    case .wrongType(let type):
      giveUp(job)
      confirmed.content = .otherType(type)
      let error = RedisSharedStateError.wrongRedisType(name: name, type: type)
      sight = .unreadable(error)
      hasLoadStatus = true
      return putBack(job, error) + advance()
    }
  }

  private mutating func accepted(_ job: Job, _ revision: Revision, _ parent: Revision) -> [Action] {
    floor = max(floor, revision)
    if case .repair(let repair) = job.purpose {
      if repair == .restore {
        if revision == confirmed.revision { left = nil }
        return [.report(.restored(revision))]
      }
      // What was adopted is in the message, unless that is lost or still on its way.
      guard confirmed.revision < revision else { return [.report(.adopted(revision))] }
      adopted = (revision, sentReads + 1)
      return [.report(.adopted(revision)), .read]
    }
    var actions: [Action] = []
    let made = State(revision: revision, content: job.content)
    // Of the same revision, what was read after a lost reply is newer than what the commit has made.
    let isOvertaken = job.isInterrupted && revision == confirmed.revision && made != confirmed
    // What was evicted before anybody had read it, its author has.
    let isLost =
      isOvertaken && circumstances.mayRestore && isEvicted(StoredValue(meta: meta, content: confirmed.content))
    let isNewest = revision >= confirmed.revision && (!isOvertaken || isLost)
    if isNewest {
      confirmed = made
      left = nil
      meta = Meta(
        revision: revision,
        parent: parent,
        kind: job.content == .absent ? .deleted : .set,
        expiry: job.content == .absent ? 0 : expectedExpiry(of: revision),
        writer: policy.writer
      )
      isMetaCertain = isExpiryCertain
      sight = .unknown
      if isLost { repair = .restore }
      if policy.timeToLive > 0, job.content != .absent {
        actions.append(.readLater(milliseconds: policy.timeToLive))
      }
    }
    switch job.purpose {
    case .change(let stamp, let encoded, _):
      base = .encoded(encoded)
      baseRevision = revision
      if isNewest, job.isReflected {
        sight = .reflected
      } else if sight == .reflected {
        // It was what the box had before this change.
        sight = .unknown
      }
      return actions + saved() + finish(job.waiters, nil) + settle(stamp: stamp)
    case .reset(let stamp):
      // What was changed after it is a change of the default.
      (base, baseRevision) = (.defaultValue, revision)
      // The box still has what was changed before.
      if sight == .reflected { sight = .unknown }
      finished += job.waiters.save.sorted()
      return actions + saved() + resume(job.waiters.flush.sorted(), nil) + settle(stamp: stamp)
    case .updates, .repair:
      finished += job.updates
      return actions
    }
  }

  private mutating func conflicted(_ job: Job, _ stored: StoredValue, _ hasForgotten: Bool) -> [Action] {
    let known = [stored.meta, meta].compactMap { $0 }
    if !hasUndecided, let made = known.first(where: { job.hasMade($0, writer: policy.writer) }) {
      // It is our own: it took effect, and the server that has it now, or has lost it since, has not kept its operation.
      return accepted(job, made.revision, made.parent) + look(at: stored, known: made.revision)
    }
    var isCommitting = true
    if case .repair = job.purpose { isCommitting = false }
    let actions = look(at: stored, known: job.known, isCommitting: isCommitting)
    switch job.purpose {
    case .repair(let refused):
      // What was lost has expired by now: what the server has left is what counts, once it has a revision.
      if refused == .restore, stored.revision < confirmed.revision {
        repair = .adopt(stored.revision)
        left = stored.revision
      }
      return actions
    case .updates:
      guard isDecided(job, by: stored, hasForgotten) else {
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
      guard policy.conflict == .reject, stored.revision >= job.expected else { return actions + putBack(job, nil) }
      return actions + rollBack(stamp: stamp, job.waiters, local: encoded, stored: stored.document)
    }
  }

  /// Whether what is stored tells that a commit has not taken effect.
  private func isDecided(_ job: Job, by stored: StoredValue, _ hasForgotten: Bool) -> Bool {
    guard job.isInterrupted else { return true }
    let isSameServer = job.runID != nil && job.runID == circumstances.runID
    // What was made of nothing, and has lost its revision since, cannot be told from what somebody wrote without one.
    let mayBeEvicted = circumstances.evicts && job.expected == .none
    return stored.meta != nil && isSameServer && !hasForgotten && !mayBeEvicted
  }

  /// The local changes up to the stamp yield to what others have done.
  mutating func rollBack(stamp: UInt64, _ waiters: Waiters, local: Data, stored: Data?) -> [Action] {
    let error = RedisSharedStateError.conflict(name: name, local: local, stored: stored)
    hasSaveError = true
    givenUp = (stamp, error)
    if sight == .reflected { sight = .unknown }
    updates += waiters.updates
    yielded.append((waiters.all, error))
    return [.saveError(error)] + settle(stamp: stamp)
  }

  /// What was not committed is to be committed later, in another form.
  ///
  /// - Parameter error: Why it cannot be committed without somebody's doing; updates end with it.
  mutating func putBack(_ job: Job, _ error: RedisSharedStateError?) -> [Action] {
    switch job.purpose {
    case .change(let stamp, _, _):
      isDirty = true
      var waiting = job.waiters
      // What was to be kept before it is to be deleted now.
      if let reset, reset.stamp >= stamp { waiting.isSave = false }
      waiters.merge(waiting)
      // A reset is committed first now: who waits for both waits for this.
      waiters.flush.formUnion(reset?.waiters.flush ?? [])
      reset?.waiters.flush = []
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
      guard !error.isPermanent else { return advance() }
      self.repair = repair
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

  /// The pause after a refusal is over.
  package mutating func retry() -> [Action] {
    isPausing = false
    return advance()
  }

  /// A snapshot is dealt with: tells those who waited for it, and lets the updates run that had to come after it.
  mutating func finish(_ waiters: Waiters, _ error: RedisSharedStateError?) -> [Action] {
    updates += waiters.updates
    return resume(waiters.all, error)
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
