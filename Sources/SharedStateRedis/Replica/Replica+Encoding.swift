package import Foundation

/// Making documents of what is to be committed.
extension Replica {
  /// A snapshot to be encoded, atomic updates to be run, or two histories to be merged, without the lock.
  package struct Encoding: Sendable {
    /// The histories to be merged; `nil`: there are none, and a snapshot or updates are to be encoded.
    var fork: Fork.Documents?
    /// The atomic updates to be applied to what is stored; none: the local change is to be encoded.
    package var updates: [UInt64]
    /// What the local change is a change of.
    package var base: Base
    /// Whether that turned out never to have been stored, so that only what differs from it is kept.
    package var isBaseWithdrawn = false
    /// What it is committed on top of.
    package var stored: State
    /// What the server is expected to have beside it.
    var expected: Meta?
    /// What this service held when it was begun.
    var held: Lineage?
    /// The document that the server has to be asked for as well, because nothing else tells that it has it.
    var basis: Data?
    /// Whether what others have changed meanwhile, and fields that nobody here knows, are kept.
    package var isMerged: Bool
    /// Whether what is stored cannot be read, and is replaced on request.
    var isReplacement: Bool
    /// The updates that nobody waits for any more since it was begun.
    var forgotten: Set<UInt64> = []
    /// Whether a closure of the program's that had the value has ended since it was begun.
    var isUnlocked = false

    /// Whether it is about the local change.
    var isOfChange: Bool { fork == nil && updates.isEmpty }
  }

  /// An encoding that waits for a snapshot, because a closure of the program's had the value.
  struct Postponement: Sendable {
    /// Whether the closure still has it.
    var isLocked: Bool
    /// Those who waited when it was begun: the snapshot is newer than that. It may be older than what came later.
    var waiters: Waiters
  }

  /// What came of an ``Encoding``.
  package struct Encoded: Sendable {
    /// The local mutations that the snapshot holds.
    package var stamp: UInt64
    /// `nil`: the updates have changed nothing.
    package var result: Result<Documents?, RedisSharedStateError>
    /// The updates that break the key's rules, and are not part of the result.
    package var refused: [UInt64: RedisSharedStateError] = [:]
    /// Whether the change is right by itself, and not together with what is stored, so that it gives way to that.
    package var givesWay = false

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

  /// Whether a snapshot is to be taken now, or updates are to be run.
  ///
  /// - Returns: What to encode for ``encoded(_:operation:)``; `nil`: nothing.
  package mutating func beginEncoding() -> Encoding? {
    guard mayBeginCommit, inFlight == nil, showing == nil else { return nil }
    if let repair {
      guard repair.kind == .merge, case .merge(let documents) = fork(of: repair) else { return nil }
      encoding = makeEncoding(of: [])
      encoding?.fork = documents
      return encoding
    }
    guard reset == nil, sight != .unknown else { return nil }
    if !updates.isEmpty, verification == nil, unreadable == nil {
      encoding = makeEncoding(of: updates)
      updates = []
    } else if let postponed, !postponed.isLocked, mayCommit {
      // Another one has to follow it, so that the replica stays dirty.
      encodingWaiters = postponed.waiters
      self.postponed = nil
      encoding = makeEncoding(of: [])
    } else if isDirty, mayCommit, postponed == nil {
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
      isBaseWithdrawn: isBaseWithdrawn,
      stored: State(revision: storedRevision, content: confirmed.content),
      expected: expectedMeta,
      held: held.meta?.lineage,
      basis: news != nil || expectedMeta == nil ? confirmed.content.document : nil,
      isMerged: (policy.conflict != .lastWriteWins || isBaseWithdrawn) && unreadable == nil,
      isReplacement: unreadable != nil
    )
  }

  /// A closure of the program's has the value, so that there is no snapshot yet: it is taken after ``unlocked()``.
  package mutating func locked() -> [Action] {
    guard let encoding, encoding.isOfChange else { return [] }
    self.encoding = nil
    isDirty = true
    postponed = Postponement(isLocked: !encoding.isUnlocked, waiters: encodingWaiters)
    encodingWaiters = Waiters()
    return advance()
  }

  /// The closure has ended.
  package mutating func unlocked() -> [Action] {
    encoding?.isUnlocked = true
    guard postponed?.isLocked ?? false else { return [] }
    postponed?.isLocked = false
    return advance()
  }

  /// The snapshot is encoded, or cannot be; the updates have run; the histories are merged, or do not go together.
  package mutating func encoded(_ encoded: Encoded, operation: Operation) -> [Action] {
    guard let encoding else { return [] }
    self.encoding = nil
    if let documents = encoding.fork { return finish(merge: encoded, of: documents) }
    return encoding.updates.isEmpty
      ? finish(change: encoded, encoding, operation) : finish(updates: encoded, encoding, operation)
  }

  private mutating func finish(merge encoded: Encoded, of documents: Fork.Documents) -> [Action] {
    // What was found, or is held, may have become something else.
    if let repair, repair.kind == .merge, case .merge(documents) = fork(of: repair) {
      let merged = try? encoded.result.get()?.merged
      // Of two that do not go together what is stored stays, and a service that knows better may still merge.
      let outcome = Fork.Outcome(
        content: .document(merged ?? documents.stored),
        included: merged.flatMap { _ in held.meta?.lineage }
      )
      self.repair?.merged = Fork.Merged(documents: documents, outcome: outcome)
    }
    return advance()
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
      let error = givenUp.flatMap { $0.stamp >= settledStamp ? $0.error : nil }
      let told =
        error.map { [.saveError($0)] + finish(encodingWaiters, givenUp: $0) } ?? saved() + finish(encodingWaiters)
      return told + settle(stamp: stamp) + advance()
    case .success(let documents):
      guard let documents else { return [] }
      if isOvertaken(encoding), !encoding.isReplacement {
        guard isCertain(encoding.stored) else { return encodeAgain(stamp: stamp) }
        let stored = confirmed.content.document
        return rollBack(stamp: stamp, encodingWaiters, local: documents.encoded, stored: stored) + advance()
      }
      let revision = encoding.stored.revision
      inFlight = Job(
        purpose: .change(stamp: stamp, encoded: documents.encoded, isReplacement: encoding.isReplacement),
        operation: operation,
        content: .document(documents.merged),
        condition: encoding.isReplacement ? .replacing(revision) : .revision(revision),
        expectation: Job.Expectation(encoding),
        isReflected: documents.isReflected,
        waiters: encodingWaiters
      )
      return remadeIfOutdated()
    case .failure(let error) where encoded.givesWay:
      guard isCertain(encoding.stored) else { return encodeAgain(stamp: stamp) }
      return rollBack(stamp: stamp, encodingWaiters, error) + advance()
    case .failure(let error):
      // The change stays in the box and is given up here; a later one may well be sent.
      let told = giveUp(stamp: stamp, error) + finish(encodingWaiters, givenUp: error)
      return told + settle(stamp: stamp) + advance()
    }
  }

  /// Whether a local change has to yield to what was stored since it was made, so that the server need not be asked.
  private func isOvertaken(_ encoding: Encoding) -> Bool {
    switch policy.conflict {
    case .lastWriteWins: false
    // Somebody without revisions may have written over the tombstone since.
    case .merge: confirmed.revision > baseRevision && meta?.kind == .deleted && confirmed.content == .absent
    // What has come in while it was encoded may turn out unreadable, which it would have to wait for.
    case .reject: encoding.stored.revision > baseRevision
    }
  }

  /// Whether this is stored, as far as is known, and not only what a message has told.
  private func isCertain(_ stored: State) -> Bool {
    news == nil && stored == State(revision: storedRevision, content: confirmed.content)
  }

  /// A local change would yield to what may not be stored: it is encoded once more when that is known.
  private mutating func encodeAgain(stamp: UInt64) -> [Action] {
    putBack(changeUpTo: stamp, encodingWaiters)
    guard news != nil else { return advance() }
    news?.isDecisive = true
    return [.read] + advance()
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
    let refused = encoded.refused.sorted { $0.key < $1.key }.flatMap { resume([$0.key], $0.value) }
    let updates = encoding.updates.filter { encoded.refused[$0] == nil }
    switch encoded.result {
    case .success(let documents?):
      inFlight = Job(
        purpose: .updates,
        operation: operation,
        content: .document(documents.merged),
        condition: .revision(encoding.stored.revision),
        expectation: Job.Expectation(encoding),
        updates: updates
      )
      return refused + remadeIfOutdated()
    case .success(nil):
      guard !updates.isEmpty else { return refused + advance() }
      verification = Verification(
        updates: updates,
        state: encoding.stored,
        read: sentReads + 1
      )
      return refused + (phase == .live ? [.read] : []) + advance()
    case .failure(let error):
      return resume(encoding.updates, error) + advance()
    }
  }
}
