package import Foundation

/// Making documents of what is to be committed.
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

  /// Whether a snapshot is to be taken now, or updates are to be run.
  ///
  /// - Returns: What to encode for ``encoded(_:operation:)``; `nil`: nothing.
  package mutating func beginEncoding() -> Encoding? {
    guard mayBeginCommit, inFlight == nil, repair == nil, reset == nil else { return nil }
    guard showing == nil, sight != .unknown else { return nil }
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
      let error = givenUp.flatMap { $0.stamp >= settledStamp ? $0.error : nil }
      let status = error.map { [.saveError($0)] } ?? saved()
      return status + finish(encodingWaiters, error) + settle(stamp: stamp) + advance()
    case .success(let documents):
      guard let documents else { return [] }
      if isOvertaken(encoding), !encoding.isReplacement {
        let stored = confirmed.content.document
        return rollBack(stamp: stamp, encodingWaiters, local: documents.encoded, stored: stored) + advance()
      }
      let condition: Commit.Condition =
        policy.conflict == .lastWriteWins ? .unconditional : .revision(encoding.stored.revision)
      inFlight = Job(
        purpose: .change(stamp: stamp, encoded: documents.encoded, isReplacement: encoding.isReplacement),
        operation: operation,
        content: .document(documents.merged),
        condition: encoding.isReplacement ? .replacing(encoding.stored.revision) : condition,
        basis: encoding.stored.content,
        isReflected: documents.isReflected,
        waiters: encodingWaiters
      )
      return remadeIfOutdated()
    case .failure(let error):
      // The change stays in the box and is given up here; a later one may well be sent.
      hasSaveError = true
      givenUp = (stamp, error)
      return [.saveError(error)] + finish(encodingWaiters, error) + settle(stamp: stamp) + advance()
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
        basis: encoding.stored.content,
        updates: encoding.updates
      )
      return remadeIfOutdated()
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
}
