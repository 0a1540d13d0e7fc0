package import Foundation

/// Local changes on their way into Redis, and those who wait for them.
extension Replica {
  /// A local mutation was made since the last snapshot.
  package mutating func changed() -> [Action] {
    isDirty = true
    return proceed()
  }

  /// Somebody wants the present value to be kept, whether it has changed or not.
  package mutating func save(waiter: UInt64) -> [Action] {
    waiters.save.insert(waiter)
    waiters.isSave = true
    isDirty = true
    return proceed()
  }

  /// Somebody wants what is stored.
  package mutating func load(waiter: UInt64) -> [Action] {
    loadWaiters[waiter] = sentReads + 1
    hasLoadStatus = true
    return [.loading(true)] + (phase == .reading || phase == .live ? [.read] : [])
  }

  /// Somebody waits until every change so far is acknowledged.
  ///
  /// - Returns: Whether there is one to wait for.
  package mutating func flush(waiter: UInt64) -> Bool {
    if isDirty {
      waiters.flush.insert(waiter)
    } else if isEncoding {
      encodingWaiters.flush.insert(waiter)
    } else {
      inFlight?.waiters.flush.insert(waiter)
    }
    return hasPendingChange
  }

  /// Somebody has stopped waiting.
  package mutating func forget(waiter: UInt64) {
    waiters.remove(waiter)
    encodingWaiters.remove(waiter)
    inFlight?.waiters.remove(waiter)
    loadWaiters[waiter] = nil
  }

  /// Whether a snapshot is to be taken now.
  ///
  /// - Returns: `true` when the caller is to encode the value and call ``encoded(_:stamp:operation:)``.
  package mutating func beginEncoding() -> Bool {
    guard phase == .live, isDirty, !isEncoding, inFlight == nil, showing == nil, mayCommit else { return false }
    isDirty = false
    isEncoding = true
    (encodingWaiters, waiters) = (waiters, Waiters())
    return true
  }

  /// What a commit needs, apart from the names.
  package struct Draft: Sendable {
    package var document: Data
    package var condition: Commit.Condition
    package var floor: Revision
    package var operation: Operation
  }

  /// The snapshot is encoded, or cannot be.
  package mutating func encoded(
    _ result: Result<Data, RedisSharedStateError>,
    stamp: UInt64,
    operation: Operation
  ) -> [Action] {
    isEncoding = false
    defer { encodingWaiters = Waiters() }
    switch result {
    case .success where stamp <= settledStamp && !encodingWaiters.isSave:
      // It was reported twice. Committing it again would overwrite what others have written since.
      return saved() + resume(encodingWaiters.all, nil) + settle(stamp: stamp)
    case .success(let document):
      inFlight = InFlight(
        operation: operation,
        stamp: stamp,
        document: document,
        condition: unreadable == nil ? .unconditional : .revision(confirmed.revision),
        waiters: encodingWaiters
      )
      return []
    case .failure(let error):
      // The change stays in the box and is given up here; a later one may well be sent.
      hasSaveError = true
      return [.saveError(error)] + resume(encodingWaiters.all, error) + settle(stamp: stamp)
    }
  }

  /// The commit to send, new or again; `nil` when there is none, it has been sent, or it has to wait.
  package mutating func takeDraft() -> Draft? {
    guard phase == .live, showing == nil, mayCommit, let inFlight, !inFlight.isSent else { return nil }
    self.inFlight?.isSent = true
    if unreadable != nil { self.inFlight?.condition = .revision(confirmed.revision) }
    return Draft(
      document: inFlight.document,
      condition: self.inFlight?.condition ?? inFlight.condition,
      floor: floor,
      operation: inFlight.operation
    )
  }

  /// The reply to a commit.
  package mutating func committed(_ reply: CommitReply, operation: Operation) -> [Action] {
    guard let inFlight, inFlight.operation == operation else { return [] }
    self.inFlight = nil
    switch reply {
    case .committed(let revision, _):
      floor = max(floor, revision)
      acknowledged = max(acknowledged, revision)
      let own = State(revision: revision, content: .document(inFlight.document))
      if revision > confirmed.revision { confirmed = own }
      // It has replaced what could not be read, unless that came after it.
      if confirmed == own { unreadable = nil }
      let settled = settle(stamp: inFlight.stamp)
      return saved() + loaded() + resume(inFlight.waiters.all, nil) + settled
    case .conflict(let stored):
      // Only a save that replaces what cannot be read carries a condition for now.
      isDirty = true
      hasSaveError = true
      let error = RedisSharedStateError.conflict(name: name)
      return [.saveError(error)] + resume(inFlight.waiters.all, error) + self.stored(stored)
    case .wrongType(let type):
      isDirty = true
      waiters.save.formUnion(inFlight.waiters.save)
      waiters.flush.formUnion(inFlight.waiters.flush)
      waiters.isSave = waiters.isSave || inFlight.waiters.isSave
      confirmed.content = .otherType(type)
      let error = RedisSharedStateError.wrongRedisType(name: name, type: type)
      unreadable = error
      hasLoadStatus = true
      return [.loadError(error)] + takeUp() + proceed()
    }
  }

  /// The value is kept: says so, if it was said that it is not.
  private mutating func saved() -> [Action] {
    defer { hasSaveError = false }
    return hasSaveError ? [.saveError(nil)] : []
  }

  /// The server refused a commit. It is tried again later, unchanged.
  package mutating func commitRefused(_ error: RedisSharedStateError, operation: Operation) -> [Action] {
    guard inFlight?.operation == operation else { return [] }
    inFlight?.isSent = false
    hasSaveError = true
    // Those who wait for a later snapshot are told as well: it would have to wait behind this one.
    let refused = (inFlight?.waiters.takeAll() ?? []) + waiters.takeAll()
    return [.saveError(error)] + resume(refused, error) + takeUp() + [.retryLater]
  }

  /// The pause after a refusal is over.
  package mutating func retry() -> [Action] {
    proceed()
  }
}
