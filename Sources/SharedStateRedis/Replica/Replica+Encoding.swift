import Foundation

/// Encoding the documents to be committed.
extension Replica {
  /// A snapshot to be encoded, atomic updates to be run, or two histories to be merged, all without the lock.
  struct Encoding: Sendable {
    /// The histories to be merged; `nil` if a snapshot or updates are to be encoded.
    var fork: Fork.Documents?
    /// The atomic updates to be applied to the stored value; empty if the local change is to be encoded.
    var updates: [UInt64]
    /// The base of the local change.
    var base: Base
    /// The state that it is committed on top of.
    var stored: State
    /// The meta that the server is expected to have.
    var expected: Meta?
    /// The lineage of the verified version when the encoding began.
    var verifiedLineage: Lineage?
    /// The document that the commit has to expect as well, because nothing else proves that the server has it.
    var basis: Data?
    /// Whether the changes of other services, and fields unknown to this one, are kept.
    var isMerged: Bool
    /// Whether the stored document, or some of its members, cannot be read and is replaced on request.
    var isReplacement: Bool
    /// The document that supplies members of the stored one that cannot be read; `nil`: the default does.
    var last: Data?
    /// Whether it encodes the local change.
    var isOfChange: Bool { fork == nil && updates.isEmpty }
  }

  /// The result of an ``Encoding``.
  struct Encoded: Sendable {
    /// The stamp of the snapshot.
    var stamp: UInt64
    /// `nil` if the updates have changed nothing.
    var result: Result<Documents?, RedisSharedStateError>
    /// The updates that break the key's rules. The result does not include them.
    var refused: [UInt64: RedisSharedStateError] = [:]
    /// Whether the change is valid by itself but not together with the stored document, so that it yields to that.
    var givesWay = false
    /// In how many places the stored document has overridden a change of the lost one.
    var overridden = 0

    init(stamp: UInt64, result: Result<Documents?, RedisSharedStateError>) {
      self.stamp = stamp
      self.result = result
    }
  }

  /// The documents of one value.
  struct Documents: Hashable, Sendable {
    /// The value as this service encodes it.
    var encoded: Data
    /// The document to send: with the changes of other services, and with fields unknown to this one.
    var merged: Data
    /// Whether the sent document decodes to the same value, so that there is nothing to show once it is acknowledged.
    var isReflected: Bool
    /// The members of the sent document that cannot be read.
    var unreadableMembers: RedisSharedStateError?

    /// - Parameter isReflected: `nil` to compare the two documents.
    init(encoded: Data, merged: Data, isReflected: Bool? = nil) {
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
    if let repair = online?.repairs.repair {
      guard repair.kind == .merge, case .merge(let documents) = fork(of: repair) else { return nil }
      return begin(makeEncoding(of: [], merging: documents))
    }
    guard pending.reset == nil, shown.sight != .unknown else { return nil }
    if !pending.updates.isEmpty, pending.verification == nil, unreadable == nil {
      return begin(makeEncoding(of: pending.takeUpdates()))
    }
    guard pending.hasSnapshot, mayCommit else { return nil }
    let encoding = makeEncoding(of: [])
    return begin(encoding, pending.takePostponed() ?? pending.takeSnapshot())
  }

  /// Whether a local change was not encoded since it was made, and cannot be sent for now. It is tried meanwhile, so
  /// that the program does not go on for long with a value that Redis will never have.
  private var awaitsTrial: Bool {
    guard pending.isUntried, pending.hasSnapshot, pending.trial == nil, outgoing.encoding == nil else { return false }
    guard shown.showing == nil, !isCommitUnderWay else { return false }
    guard let online else { return true }
    // It is most likely sent as soon as the value is read.
    guard phase == .live || online.refusalToRead != nil else { return false }
    return !mayBeginCommit || online.isPausing || !mayCommit
  }

  /// Whether a trial should begin. Not a property, which would copy the replica.
  mutating func wantsTrial() -> Bool { awaitsTrial }

  /// Begins to try the local change if it has to be tried.
  ///
  /// - Returns: The work whose result ``encoded(_:operation:)`` expects; `nil` if there is none.
  mutating func beginTrial() -> Encoding? {
    guard awaitsTrial else { return nil }
    pending.beginTrial()
    var encoding = makeEncoding(of: [])
    // The stored document may be another one by the time when the change is sent.
    encoding.isMerged = false
    return encoding
  }

  private mutating func begin(_ encoding: Encoding, _ waiters: Waiters = Waiters()) -> Encoding {
    outgoing = .encoding(Outgoing.Encoding(encoding, waiters))
    return encoding
  }

  private func makeEncoding(of updates: [UInt64], merging fork: Fork.Documents? = nil) -> Encoding {
    let isOfChange = updates.isEmpty && fork == nil
    let replacesMembers = isOfChange && shown.unreadableMembers != nil && pending.isReplacement
    return Encoding(
      fork: fork,
      updates: updates,
      base: shown.base,
      stored: storedState,
      expected: confirmed.expectedMeta,
      verifiedLineage: lastVerified.meta?.lineage,
      basis: confirmed.basis,
      isMerged: policy.conflict.keepsOtherChanges && unreadable == nil && !replacesMembers,
      isReplacement: unreadable != nil || replacesMembers,
      last: lastDocument
    )
  }

  /// A closure of the program is using the value, so the snapshot is taken after ``unlocked()``.
  mutating func locked() -> [Action] {
    if let trial = pending.endTrial() {
      pending.postpone(isLocked: !trial.isUnlocked, Waiters())
      return advance()
    }
    guard let encoding = outgoing.encoding, encoding.work.isOfChange else { return [] }
    outgoing = .nothing
    pending.postpone(isLocked: !encoding.isUnlocked, encoding.waiters)
    return advance()
  }

  /// The closure has ended.
  mutating func unlocked() -> [Action] {
    outgoing.encoding?.isUnlocked = true
    return pending.unlock() ? advance() : []
  }

  /// The encoding has ended: a snapshot is encoded or tried, updates have run, or histories are merged, with success
  /// or not.
  mutating func encoded(_ encoded: Encoded, operation: Operation) -> [Action] {
    if pending.endTrial() != nil { return tried(encoded) + advance() }
    guard let encoding = outgoing.encoding else { return [] }
    outgoing = .nothing
    if let documents = encoding.work.fork { return finish(merge: encoded, of: documents) }
    return encoding.work.updates.isEmpty
      ? finish(change: encoded, encoding, operation) : finish(updates: encoded, encoding, operation)
  }

  private mutating func tried(_ encoded: Encoded) -> [Action] {
    guard case .failure(let error) = encoded.result, encoded.stamp > pending.settledStamp else { return [] }
    return rollBack(stamp: encoded.stamp, pending.takeRefused(), error)
  }

  private mutating func finish(merge encoded: Encoded, of documents: Fork.Documents) -> [Action] {
    // The stored value or the verified version may have changed meanwhile.
    if let repair = online?.repairs.repair, repair.kind == .merge, case .merge(documents) = fork(of: repair) {
      let merged = try? encoded.result.get()?.merged
      // If the two cannot be merged, the stored document stays. A service that knows more may still merge them.
      let isWhole = merged == nil || encoded.overridden > 0 && merged == documents.stored
      let places = encoded.overridden > 0 ? HistoryLoss.places(encoded.overridden) : nil
      let outcome = Fork.Outcome(
        content: .document(merged ?? documents.stored),
        included: merged.flatMap { _ in lastVerified.meta?.lineage },
        loss: isWhole ? .whole : places
      )
      online?.repairs.merged(Fork.Merged(documents: documents, outcome: outcome))
    }
    return advance()
  }

  private mutating func finish(
    change encoded: Encoded,
    _ underWay: Outgoing.Encoding,
    _ operation: Operation
  ) -> [Action] {
    let (encoding, waiters, stamp) = (underWay.work, underWay.waiters, encoded.stamp)
    switch encoded.result {
    case .success(let documents) where stamp <= pending.settledStamp && (!waiters.isSave || isStored(documents)):
      // The change was reported twice. Committing it again would overwrite later writes of other services. Or the value
      // to be saved is stored.
      let isGivenUp = !waiters.isSave && reports.givenUp.map { $0.stamp >= pending.settledStamp } ?? false
      let error = isGivenUp ? reports.givenUp?.error : nil
      let finished =
        error.map { [.status(.saveError($0))] + finish(waiters, givenUp: $0) } ?? saved() + finish(waiters)
      return finished + settle(stamp: stamp) + advance()
    case .success(let documents):
      guard let documents else { return [] }
      if isOvertaken(encoding), !encoding.isReplacement {
        guard encoding.stored == storedState else { return encodeAgain(stamp: stamp, waiters) }
        let stored = confirmed.content.document
        return rollBack(stamp: stamp, waiters, local: documents.encoded, stored: stored) + advance()
      }
      let revision = encoding.stored.revision
      let commit = OutstandingCommit(
        purpose: .change(stamp: stamp, encoded: documents.encoded, isReplacement: encoding.isReplacement),
        operation: operation,
        content: .document(documents.merged),
        condition: encoding.isReplacement ? .replacing(revision) : .revision(revision),
        expectedVersion: OutstandingCommit.ExpectedVersion(encoding),
        isReflected: documents.isReflected,
        unreadableMembers: documents.unreadableMembers,
        isMerge: encoding.isMerged && revision != shown.baseRevision,
        waiters: waiters
      )
      outgoing = .commit(commit)
      return remadeIfOutdated()
    case .failure(let error):
      if encoded.givesWay, encoding.stored != storedState { return encodeAgain(stamp: stamp, waiters) }
      return rollBack(stamp: stamp, waiters, error) + advance()
    }
  }

  /// Whether the server is known to have the value in the box, whose documents these are, so that a save has nothing to
  /// commit. A save renews a time to live.
  private func isStored(_ documents: Documents?) -> Bool {
    guard let documents, policy.timeToLive == 0, mayBeginCommit, shown.sight == .reflected else { return false }
    return confirmed.left == nil && confirmed.meta != nil && documents.merged == confirmed.content.document
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

  /// The confirmed content with the revision that the server is expected to have.
  var storedState: State { State(revision: confirmed.storedRevision, content: confirmed.content) }

  /// Encodes a local change once more later: it would yield to a state that is outdated.
  private mutating func encodeAgain(stamp: UInt64, _ waiters: Waiters) -> [Action] {
    pending.putBack(changeUpTo: stamp, waiters)
    return advance()
  }

  private mutating func finish(
    updates encoded: Encoded,
    _ underWay: Outgoing.Encoding,
    _ operation: Operation
  ) -> [Action] {
    let encoding = underWay.work
    guard underWay.forgotten.isEmpty else {
      pending.putBack(updates: encoding.updates.filter { !underWay.forgotten.contains($0) })
      return advance()
    }
    let refused = encoded.refused.sorted { $0.key < $1.key }.flatMap { resume([$0.key], $0.value) }
    let updates = encoding.updates.filter { encoded.refused[$0] == nil }
    switch encoded.result {
    case .success(let documents?):
      let commit = OutstandingCommit(
        purpose: .updates,
        operation: operation,
        content: .document(documents.merged),
        condition: .revision(encoding.stored.revision),
        expectedVersion: OutstandingCommit.ExpectedVersion(encoding),
        updates: updates
      )
      outgoing = .commit(commit)
      return refused + remadeIfOutdated()
    case .success(nil):
      guard !updates.isEmpty else { return refused + advance() }
      pending.verify(updates, encoding.stored, read: outstandingReads.nextRead)
      return refused + (phase == .live ? [.read] : []) + advance()
    case .failure(let error):
      return resume(encoding.updates, error) + advance()
    }
  }
}
