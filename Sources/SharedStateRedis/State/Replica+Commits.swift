package import Foundation

/// What is on its way into Redis.
extension Replica {
  /// A snapshot to be encoded, or atomic updates to be run, without the lock.
  package struct Encoding: Sendable {
    /// The atomic updates to be applied to what is stored; none: the local change is to be encoded.
    package var updates: [UInt64]
    /// What the local change is a change of.
    package var base: Base
    /// What it is committed on top of.
    package var stored: State
    /// Whether what others have changed meanwhile, and fields that nobody here knows, are kept.
    package var isMerged: Bool
    /// Whether what is stored cannot be read, and is replaced on request.
    var isReplacement: Bool
    /// The updates that nobody waits for any more since it was begun.
    var forgotten: Set<UInt64> = []
  }

  /// What came of an ``Encoding``.
  package struct Encoded: Sendable {
    /// The local mutations that the snapshot holds.
    package var stamp: UInt64
    /// `nil`: the updates have changed nothing.
    package var result: Result<Documents?, RedisSharedStateError>

    package init(stamp: UInt64, result: Result<Documents?, RedisSharedStateError>) {
      self.stamp = stamp
      self.result = result
    }
  }

  /// A value, as documents.
  package struct Documents: Hashable, Sendable {
    /// The value as this service encodes it.
    package var encoded: Data
    /// What is sent: with what others have changed, and with fields that are not known here.
    package var merged: Data
    /// Whether what is sent decodes to the same value, so that there is nothing to show once it is acknowledged.
    package var isReflected: Bool

    /// - Parameter isReflected: `nil`: when what is sent is the value as it is encoded here.
    package init(encoded: Data, merged: Data, isReflected: Bool? = nil) {
      self.encoded = encoded
      self.merged = merged
      self.isReflected = isReflected ?? (encoded == merged)
    }
  }

  /// A commit that the server has not answered yet. It survives the connection, and is tried again unchanged.
  struct Job: Sendable {
    enum Purpose: Sendable {
      case change(stamp: UInt64, encoded: Data, isReplacement: Bool)
      case updates
      case reset(stamp: UInt64)
      case repair(Repair)
    }

    var purpose: Purpose
    var operation: Operation
    var content: StoredValue.Content
    var condition: Commit.Condition
    /// Whether the box shows what is sent.
    var isReflected = false
    /// Whether the present connection has it.
    var isSent = false
    /// Whether an earlier connection had it, so that it may have taken effect.
    var isInterrupted = false
    /// The server that has it, or had it.
    var runID: String?
    var waiters = Waiters()
    var updates: [UInt64] = []

    /// The local mutations that it carries; `nil`: it is no local change.
    var stamp: UInt64? {
      if case .change(let stamp, _, _) = purpose { stamp } else { nil }
    }

    /// The revision that it takes to be there.
    var expected: Revision {
      switch condition {
      case .unconditional: .none
      case .revision(let revision), .replacing(let revision): revision
      }
    }

    /// Whether the box holds something because of which a remote state must not be shown.
    var isLocalChange: Bool {
      switch purpose {
      case .change, .reset: true
      case .updates, .repair: false
      }
    }

    /// What is left of it when the connection breaks; `nil`: nothing that anybody waits for.
    var interrupted: Job? {
      var job = self
      job.isInterrupted = isInterrupted || isSent
      job.isSent = false
      switch purpose {
      case .change, .reset: return job
      case .updates: return updates.isEmpty ? nil : job
      case .repair: return nil
      }
    }
  }

  /// What a commit needs, apart from the names.
  package struct Draft: Sendable {
    package enum Content: Sendable {
      case document(Data)
      case deleted
      /// What is there gets a revision.
      case adopted
      /// What was lost is put back.
      case restored(StoredValue.Content, Meta)
    }

    package var content: Content
    package var condition: Commit.Condition
    package var floor: Revision
    package var operation: Operation

    /// In bytes.
    package var size: Int {
      switch content {
      case .document(let document), .restored(.document(let document), _): document.count
      case .deleted, .adopted, .restored: 0
      }
    }
  }

  // MARK: Making commits

  /// Whether a snapshot is to be taken now, or updates are to be run.
  ///
  /// - Returns: What to encode for ``encoded(_:operation:)``; `nil`: nothing.
  package mutating func beginEncoding() -> Encoding? {
    guard phase == .live, encoding == nil, inFlight == nil, showing == nil, sight != .unknown else { return nil }
    guard repair == nil, reset == nil else { return nil }
    if !updates.isEmpty, verification == nil, unreadable == nil {
      encoding = makeEncoding(of: updates)
      updates = []
    } else if isDirty, mayCommit {
      isDirty = false
      (encodingWaiters, waiters) = (waiters, Waiters())
      encoding = makeEncoding(of: [])
    }
    return encoding
  }

  private func makeEncoding(of updates: [UInt64]) -> Encoding {
    Encoding(
      updates: updates,
      base: base,
      stored: State(revision: storedRevision, content: confirmed.content),
      isMerged: policy.conflict != .lastWriteWins && unreadable == nil,
      isReplacement: unreadable != nil
    )
  }

  /// The snapshot is encoded, or cannot be; the updates have run.
  package mutating func encoded(_ encoded: Encoded, operation: Operation) -> [Action] {
    guard let encoding else { return [] }
    self.encoding = nil
    return encoding.updates.isEmpty
      ? finish(change: encoded, encoding, operation) : finish(updates: encoded, encoding, operation)
  }

  private mutating func finish(
    change encoded: Encoded,
    _ encoding: Encoding,
    _ operation: Operation
  ) -> [Action] {
    defer { encodingWaiters = Waiters() }
    let stamp = encoded.stamp
    switch encoded.result {
    case .success where stamp <= settledStamp && !encodingWaiters.isSave:
      // It was reported twice. Committing it again would overwrite what others have written since.
      return saved() + finish(encodingWaiters, nil) + settle(stamp: stamp) + advance()
    case .success(let documents):
      guard let documents else { return [] }
      // Somebody without revisions may have written over the tombstone since.
      if policy.conflict != .lastWriteWins, meta?.kind == .deleted, confirmed.content == .absent,
        confirmed.revision > baseRevision
      {
        return rollBack(stamp: stamp, encodingWaiters, local: documents.encoded, stored: nil) + advance()
      }
      let condition: Commit.Condition =
        switch policy.conflict {
        case .lastWriteWins: .unconditional
        case .merge: .revision(encoding.stored.revision)
        case .reject: .revision(baseRevision == confirmed.revision ? encoding.stored.revision : baseRevision)
        }
      inFlight = Job(
        purpose: .change(stamp: stamp, encoded: documents.encoded, isReplacement: encoding.isReplacement),
        operation: operation,
        content: .document(documents.merged),
        condition: encoding.isReplacement ? .replacing(encoding.stored.revision) : condition,
        isReflected: documents.isReflected,
        waiters: encodingWaiters
      )
      return []
    case .failure(let error):
      // The change stays in the box and is given up here; a later one may well be sent.
      hasSaveError = true
      return [.saveError(error)] + finish(encodingWaiters, error) + settle(stamp: stamp) + advance()
    }
  }

  private mutating func finish(
    updates encoded: Encoded,
    _ encoding: Encoding,
    _ operation: Operation
  ) -> [Action] {
    guard encoding.forgotten.isEmpty else {
      updates = encoding.updates.filter { !encoding.forgotten.contains($0) } + updates
      return advance()
    }
    switch encoded.result {
    case .success(let documents?):
      inFlight = Job(
        purpose: .updates,
        operation: operation,
        content: .document(documents.merged),
        condition: .revision(encoding.stored.revision),
        updates: encoding.updates
      )
      return []
    case .success(nil):
      verification = Verification(
        updates: encoding.updates,
        state: encoding.stored,
        read: sentReads + 1
      )
      return (phase == .live ? [.read] : []) + advance()
    case .failure(let error):
      return resume(encoding.updates, error) + advance()
    }
  }

  /// The commit to send, new or again; `nil` when there is none, it has been sent, or it has to wait.
  package mutating func takeDraft(nextOperation: () -> Operation) -> Draft? {
    guard phase == .live, showing == nil, encoding == nil else { return nil }
    if inFlight == nil { beginJob(nextOperation) }
    guard var job = inFlight, !job.isSent else { return nil }
    if case .updates = job.purpose, job.updates.isEmpty {
      // Nobody waits for it any more.
      inFlight = nil
      return nil
    }
    if case .change(let stamp, let encoded, _) = job.purpose {
      guard mayCommit else { return nil }
      if unreadable != nil {
        job.purpose = .change(stamp: stamp, encoded: encoded, isReplacement: true)
        job.condition = .replacing(confirmed.revision)
      }
    }
    job.isSent = true
    job.runID = circumstances.runID
    inFlight = job
    return Draft(content: content(of: job), condition: job.condition, floor: floor, operation: job.operation)
  }

  /// What needs no encoding.
  private mutating func beginJob(_ nextOperation: () -> Operation) {
    if let repair {
      self.repair = nil
      let condition: Commit.Condition =
        if case .adopt(let revision) = repair { .revision(revision) } else { .unconditional }
      inFlight = Job(
        purpose: .repair(repair),
        operation: nextOperation(),
        content: confirmed.content,
        condition: condition
      )
    } else if let reset {
      self.reset = nil
      inFlight = Job(
        purpose: .reset(stamp: reset.stamp),
        operation: nextOperation(),
        content: .absent,
        condition: .replacing(storedRevision),
        waiters: reset.waiters
      )
    }
  }

  private func content(of job: Job) -> Draft.Content {
    switch job.purpose {
    case .repair(.adopt): return .adopted
    case .repair(.restore):
      let kind: Meta.Kind = confirmed.content == .absent ? .deleted : .set
      let parent = meta?.parent ?? .none
      let expiry = kind == .set ? meta?.expiry ?? expectedExpiry(of: confirmed.revision) : 0
      return .restored(
        confirmed.content,
        Meta(
          revision: confirmed.revision,
          parent: parent,
          kind: kind,
          expiry: expiry,
          writer: meta?.writer ?? policy.writer
        )
      )
    case .change, .updates, .reset:
      if case .document(let document) = job.content { return .document(document) }
      return .deleted
    }
  }

  // MARK: Answers

  /// The reply to a commit.
  package mutating func committed(_ reply: CommitReply, operation: Operation) -> [Action] {
    guard let job = inFlight, job.operation == operation else { return [] }
    inFlight = nil
    switch reply {
    case .committed(let revision, let parent): return accepted(job, revision, parent) + advance()
    case .conflict(let stored, let hasForgotten): return conflicted(job, stored, hasForgotten) + advance()
    case .wrongType(let type):
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
      if repair == .restore { return [.report(.restored(revision))] }
      // What was adopted is in the message, unless that is lost or still on its way.
      return [.report(.adopted(revision))] + (confirmed.revision < revision ? [.read] : [])
    }
    var actions: [Action] = []
    let isNewest = revision >= confirmed.revision
    if isNewest {
      confirmed = State(revision: revision, content: job.content)
      isTombstoneOver = false
      meta = Meta(
        revision: revision,
        parent: parent,
        kind: job.content == .absent ? .deleted : .set,
        expiry: job.content == .absent ? 0 : expectedExpiry(of: revision),
        writer: policy.writer
      )
      sight = .unknown
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
    if job.isInterrupted, let meta = stored.meta, meta.writer == policy.writer, meta.parent == job.expected {
      // It is our own: it took effect, and the server that has it now has not kept its operation.
      return accepted(job, meta.revision, meta.parent)
    }
    var isCommitting = true
    if case .repair = job.purpose { isCommitting = false }
    let actions = look(at: stored, known: job.expected, isCommitting: isCommitting)
    switch job.purpose {
    case .repair(let refused):
      // What was lost has expired by now: what the server has left is what counts, once it has a revision.
      if refused == .restore, stored.revision < confirmed.revision { repair = .adopt(stored.revision) }
      return actions
    case .updates:
      let isSameServer = job.runID != nil && job.runID == circumstances.runID
      let isDecided = !job.isInterrupted || stored.meta != nil && isSameServer && !hasForgotten
      guard isDecided else { return actions + resume(job.updates, .outcomeUnknown(name: name)) }
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

  /// The local changes up to the stamp yield to what others have done.
  private mutating func rollBack(stamp: UInt64, _ waiters: Waiters, local: Data, stored: Data?) -> [Action] {
    let error = RedisSharedStateError.conflict(name: name, local: local, stored: stored)
    hasSaveError = true
    if sight == .reflected { sight = .unknown }
    return [.saveError(error)] + finish(waiters, error) + settle(stamp: stamp)
  }

  /// What was not committed is to be committed later, in another form.
  ///
  /// - Parameter error: Why it cannot be committed without somebody's doing; updates end with it.
  private mutating func putBack(_ job: Job, _ error: RedisSharedStateError?) -> [Action] {
    switch job.purpose {
    case .change:
      isDirty = true
      waiters.merge(job.waiters)
      return []
    case .reset(let stamp):
      putBack(resetUpTo: stamp, job.waiters)
      return []
    case .updates:
      guard let error else { return [] }
      return resume(job.updates, error)
    case .repair:
      return []
    }
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
      inFlight = nil
      guard !error.isPermanent else { return advance() }
      self.repair = repair
      isPausing = true
      return advance() + [.retryLater]
    case .updates:
      inFlight = nil
      return resume(job.updates, error) + advance()
    case .reset(let stamp):
      inFlight = nil
      return resume(job.waiters.all, error) + settle(stamp: min(stamp, settledStamp)) + advance()
    case .change:
      job.isSent = false
      isPausing = true
      hasSaveError = true
      // Those who wait for a later snapshot are told as well: it would have to wait behind this one.
      let refused = job.waiters.takeAll() + waiters.takeAll()
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
  private mutating func finish(_ waiters: Waiters, _ error: RedisSharedStateError?) -> [Action] {
    updates += waiters.updates
    return resume(waiters.all, error)
  }

  /// Local changes up to the stamp are dealt with.
  private mutating func settle(stamp: UInt64) -> [Action] {
    settledStamp = max(settledStamp, stamp)
    return isDirty ? [] : [.settled]
  }

  /// The value is kept: says so, if it was said that it is not.
  private mutating func saved() -> [Action] {
    defer { hasSaveError = false }
    return hasSaveError ? [.saveError(nil)] : []
  }
}
