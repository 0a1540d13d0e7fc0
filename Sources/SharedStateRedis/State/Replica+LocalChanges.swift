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
    saveWaiters.append(waiter)
    isDirty = true
    return proceed()
  }

  /// Somebody wants what is stored.
  package mutating func load(waiter: UInt64) -> [Action] {
    reads.ask(waiter)
    hasLoadStatus = true
    // Before that, the first read of the connection answers as well, if it has not been sent.
    return [.loading(true)] + (phase == .live || phase == .reading ? read() : [])
  }

  /// Somebody waits until every change so far is acknowledged.
  ///
  /// - Returns: Whether there is one to wait for.
  package mutating func flush(waiter: UInt64) -> Bool {
    if isDirty || isEncoding {
      flushWaiters.append(waiter)
      return true
    }
    inFlight?.flushWaiters.append(waiter)
    return inFlight != nil
  }

  /// Somebody has stopped waiting.
  package mutating func forget(waiter: UInt64) {
    saveWaiters.removeAll { $0 == waiter }
    flushWaiters.removeAll { $0 == waiter }
    reads.forget(waiter)
    answeredLoads.removeAll { $0 == waiter }
    inFlight?.saveWaiters.removeAll { $0 == waiter }
    inFlight?.flushWaiters.removeAll { $0 == waiter }
  }

  /// Whether a snapshot is to be taken now.
  ///
  /// - Returns: `true` when the caller is to encode the value and call ``encoded(_:stamp:operation:)``.
  package mutating func beginEncoding() -> Bool {
    guard phase == .live, isDirty, !isEncoding, inFlight == nil, showing == nil, mayCommit else { return false }
    isDirty = false
    isEncoding = true
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
    defer {
      saveWaiters = []
      flushWaiters = []
    }
    switch result {
    case .success(let document):
      inFlight = InFlight(
        operation: operation,
        stamp: stamp,
        document: document,
        condition: unreadable == nil ? .unconditional : .revision(confirmed.revision),
        saveWaiters: saveWaiters,
        flushWaiters: flushWaiters
      )
      return []
    case .failure(let error):
      // The change stays in the box and is given up here; a later one may well be sent.
      hasSaveError = true
      return [.saveError(error)] + resume(saveWaiters + flushWaiters, error) + settle(stamp: stamp)
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
      if revision > confirmed.revision {
        confirmed = State(revision: revision, content: .document(inFlight.document))
      }
      var actions: [Action] = []
      if inFlight.condition != .unconditional { unreadable = nil }
      if hasSaveError {
        hasSaveError = false
        actions.append(.saveError(nil))
      }
      return actions + loaded() + resume(inFlight.waiters, nil) + settle(stamp: inFlight.stamp)
    case .conflict(let stored):
      // Only a save that replaces what cannot be read carries a condition for now.
      isDirty = true
      hasSaveError = true
      let error = RedisSharedStateError.conflict(name: name)
      return [.saveError(error)] + resume(inFlight.waiters, error) + self.stored(stored)
    case .wrongType(let type):
      isDirty = true
      saveWaiters = inFlight.saveWaiters + saveWaiters
      flushWaiters = inFlight.flushWaiters + flushWaiters
      confirmed.content = .otherType(type)
      let error = RedisSharedStateError.wrongRedisType(name: name, type: type)
      unreadable = error
      hasLoadStatus = true
      return [.loadError(error)] + proceed()
    }
  }

  /// The server refused a commit. It is tried again later, unchanged.
  package mutating func commitRefused(_ error: RedisSharedStateError, operation: Operation) -> [Action] {
    guard let inFlight, inFlight.operation == operation else { return [] }
    self.inFlight?.isSent = false
    self.inFlight?.saveWaiters = []
    self.inFlight?.flushWaiters = []
    hasSaveError = true
    return [.saveError(error)] + resume(inFlight.waiters, error) + [.retryLater]
  }

  /// The pause after a refusal is over.
  package mutating func retry() -> [Action] {
    proceed()
  }
}
