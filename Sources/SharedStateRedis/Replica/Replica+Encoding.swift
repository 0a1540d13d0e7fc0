package import Foundation

/// Encoding the documents to be committed.
extension Replica {
  /// A snapshot to be encoded, atomic updates to be run, or two histories to be merged, all without the lock.
  package struct Encoding: Sendable {
    /// The histories to be merged; `nil` if a snapshot or updates are to be encoded.
    var fork: Fork.Documents?
    /// The atomic updates to be applied to the stored value; empty if the local change is to be encoded.
    package var updates: [UInt64]
    /// The base of the local change.
    package var base: Base
    /// Whether the base turned out never to have been stored, so that only the difference from it is kept.
    var isBaseWithdrawn = false
    /// The state that it is committed on top of.
    package var stored: State
    /// The meta that the server is expected to have.
    var expected: Meta?
    /// The lineage of the held version when the encoding began.
    var held: Lineage?
    /// The document that the commit has to expect as well, because nothing else proves that the server has it.
    var basis: Data?
    /// Whether the changes of other services, and fields unknown to this one, are kept.
    package var isMerged: Bool
    /// Whether the stored document cannot be read and is replaced on request.
    var isReplacement: Bool
    /// The updates whose callers have stopped waiting since the encoding began.
    var forgotten: Set<UInt64> = []
    /// Whether a closure of the program that was using the value has ended since the encoding began.
    var isUnlocked = false

    /// Whether it encodes the local change.
    var isOfChange: Bool { fork == nil && updates.isEmpty }
  }

  /// An encoding that waits for a snapshot, because a closure of the program was using the value.
  struct Postponement: Sendable {
    /// Whether the closure is still using the value.
    var isLocked: Bool
    /// The waiters when the encoding began. The snapshot will be newer than their changes, but maybe older than those
    /// of later waiters.
    var waiters: Waiters
  }

  /// The result of an ``Encoding``.
  package struct Encoded: Sendable {
    /// The stamp of the snapshot.
    package var stamp: UInt64
    /// `nil` if the updates have changed nothing.
    package var result: Result<Documents?, RedisSharedStateError>
    /// The updates that break the key's rules. The result does not include them.
    package var refused: [UInt64: RedisSharedStateError] = [:]
    /// Whether the change is valid by itself but not together with the stored document, so that it yields to that.
    var givesWay = false

    package init(stamp: UInt64, result: Result<Documents?, RedisSharedStateError>) {
      self.stamp = stamp
      self.result = result
    }
  }

  /// The documents of one value.
  package struct Documents: Hashable, Sendable {
    /// The value as this service encodes it.
    package var encoded: Data
    /// The document to send: with the changes of other services, and with fields unknown to this one.
    package var merged: Data
    /// Whether the sent document decodes to the same value, so that there is nothing to show once it is acknowledged.
    var isReflected: Bool

    /// - Parameter isReflected: `nil` to compare the two documents.
    package init(encoded: Data, merged: Data, isReflected: Bool? = nil) {
      self.encoded = encoded
      self.merged = merged
      self.isReflected = isReflected ?? (encoded == merged)
    }
  }

  /// Begins an encoding if a snapshot can be taken or updates can be run now.
  ///
  /// - Returns: The work whose result ``encoded(_:operation:)`` expects; `nil` if there is none.
  mutating func beginEncoding() -> Encoding? {
    guard mayBeginCommit, inFlight == nil, shown.showing == nil else { return nil }
    if let repair = mending.repair {
      guard repair.kind == .merge, case .merge(let documents) = fork(of: repair) else { return nil }
      encoding = makeEncoding(of: [])
      encoding?.fork = documents
      return encoding
    }
    guard reset == nil, shown.sight != .unknown else { return nil }
    if !updates.isEmpty, verification == nil, unreadable == nil {
      encoding = makeEncoding(of: updates)
      updates = []
    } else if let postponed, !postponed.isLocked, mayCommit {
      // The replica stays dirty, because another snapshot has to follow this one.
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
      base: shown.base,
      isBaseWithdrawn: shown.isBaseWithdrawn,
      stored: storedState,
      expected: confirmed.expectedMeta,
      held: held.meta?.lineage,
      basis: news != nil || confirmed.expectedMeta == nil ? confirmed.content.document : nil,
      isMerged: (policy.conflict != .lastWriteWins || shown.isBaseWithdrawn) && unreadable == nil,
      isReplacement: unreadable != nil
    )
  }

  /// A closure of the program is using the value, so the snapshot is taken after ``unlocked()``.
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

  /// The encoding has ended: a snapshot is encoded, updates have run, or histories are merged, with success or not.
  package mutating func encoded(_ encoded: Encoded, operation: Operation) -> [Action] {
    guard let encoding else { return [] }
    self.encoding = nil
    if let documents = encoding.fork { return finish(merge: encoded, of: documents) }
    return encoding.updates.isEmpty
      ? finish(change: encoded, encoding, operation) : finish(updates: encoded, encoding, operation)
  }

  private mutating func finish(merge encoded: Encoded, of documents: Fork.Documents) -> [Action] {
    // The stored value or the held version may have changed meanwhile.
    if let repair = mending.repair, repair.kind == .merge, case .merge(documents) = fork(of: repair) {
      let merged = try? encoded.result.get()?.merged
      // If the two cannot be merged, the stored document stays. A service that knows more may still merge them.
      let outcome = Fork.Outcome(
        content: .document(merged ?? documents.stored),
        included: merged.flatMap { _ in held.meta?.lineage }
      )
      mending.merged(Fork.Merged(documents: documents, outcome: outcome))
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
      // The change was reported twice. Committing it again would overwrite later writes of other services.
      let error = reports.givenUp.flatMap { $0.stamp >= settledStamp ? $0.error : nil }
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
      // The change stays in the box and is given up here. A later one may well be sent.
      let told = giveUp(stamp: stamp, error) + finish(encodingWaiters, givenUp: error)
      return told + settle(stamp: stamp) + advance()
    }
  }

  /// Whether a local change has to yield to a version stored since it was made, without asking the server.
  private func isOvertaken(_ encoding: Encoding) -> Bool {
    switch policy.conflict {
    case .lastWriteWins: false
    // A client that knows no revisions may have overwritten the tombstone since.
    case .merge:
      confirmed.revision > shown.baseRevision && confirmed.meta?.kind == .deleted && confirmed.content == .absent
    // A state that arrived during the encoding does not count: it may turn out unreadable, and the change would have to
    // wait.
    case .reject: encoding.stored.revision > shown.baseRevision
    }
  }

  /// Whether a state is known to be stored, and not merely announced.
  private func isCertain(_ stored: State) -> Bool { news == nil && stored == storedState }

  /// The confirmed content with the revision that the server is expected to have.
  private var storedState: State { State(revision: confirmed.storedRevision, content: confirmed.content) }

  /// Encodes a local change once more later: it would yield to a state that may not be stored.
  private mutating func encodeAgain(stamp: UInt64) -> [Action] {
    putBack(changeUpTo: stamp, encodingWaiters)
    guard news != nil else { return advance() }
    announcements.makeDecisive()
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
        read: questions.nextRead
      )
      return refused + (phase == .live ? [.read] : []) + advance()
    case .failure(let error):
      return resume(encoding.updates, error) + advance()
    }
  }
}
