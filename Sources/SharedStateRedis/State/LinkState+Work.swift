package import Foundation

/// What is sent: subscriptions, reads, and commits, in batches and within bounds.
extension LinkState {
  /// What the thread of a connection sends now, and how long it may wait for an answer afterwards.
  ///
  /// - Returns: `nil` when the connection is to be closed: it is of another epoch, or owes an answer for too long.
  package mutating func work(
    for purpose: ConnectionPurpose,
    epoch: UInt64,
    now: ContinuousClock.Instant
  ) -> Work? {
    expireWaiters(now: now)
    guard epoch == session.epoch, session.phase == .connected || exchanges[purpose] != nil else { return nil }
    guard let exchange = exchanges[purpose] else { return nil }
    if exchange.isOverdue(now: now) {
      failed(epoch: epoch, error: .timedOut(operation: "the answer on the \(purpose.rawValue) connection"), now: now)
      return nil
    }
    var work = Work(waitUntil: now)
    if session.phase == .connected {
      switch purpose {
      case .subscriber: takeSubscriptions(into: &work, now: now)
      case .writer:
        takeReads(into: &work, now: now)
        takeCommits(into: &work, now: now)
      }
    }
    if exchanges[purpose]?.needsPing(now: now) ?? false {
      request(.ping, .ping, on: purpose, into: &work, now: now)
    }
    if work.requests.isEmpty && work.snapshots.isEmpty {
      // From now on a change has to wake the thread; as long as it is busy, it comes by here anyway.
      waiting.insert(purpose)
      var deadline = exchanges[purpose]?.nextDeadline ?? now
      if purpose == .writer {
        if let (at, _) = retries.first { deadline = min(deadline, at) }
        if let (at, _) = waiterOrder.first { deadline = min(deadline, at) }
      }
      work.waitUntil = deadline
    }
    return work
  }

  /// A snapshot that ``Work/snapshots`` asked for is encoded, or cannot be. Returns what to send for it.
  package mutating func encoded(
    _ id: ReplicaID,
    result: Result<Data, RedisSharedStateError>,
    stamp: UInt64,
    now: ContinuousClock.Instant
  ) -> RedisRequest? {
    let operation = Operation(writer: configuration.nonce, number: nextOperation)
    nextOperation += 1
    apply(members[id]?.replica.encoded(result, stamp: stamp, operation: operation), to: id)
    return commitRequest(for: id, now: now)
  }

  mutating func takeSubscriptions(into work: inout Work, now: ContinuousClock.Instant) {
    while let next = subscriptionQueue.first {
      var batch: [String] = []
      switch next {
      case .subscribe:
        while batch.count < Self.channelsInOneSubscribe, case .subscribe(let channel)? = subscriptionQueue.first {
          batch.append(channel)
          _ = subscriptionQueue.popFirst()
        }
        request(.subscribe(batch), .subscribe(batch), on: .subscriber, into: &work, now: now)
      case .unsubscribe:
        while batch.count < Self.channelsInOneSubscribe, case .unsubscribe(let channel)? = subscriptionQueue.first {
          batch.append(channel)
          _ = subscriptionQueue.popFirst()
        }
        request(.unsubscribe, .unsubscribe(batch), on: .subscriber, into: &work, now: now)
      }
    }
  }

  mutating func takeReads(into work: inout Work, now: ContinuousClock.Instant) {
    while let (names, waiter) = readOnceQueue.popFirst() {
      guard waiters[waiter] != nil else { continue }
      request(.readOnce(waiter), .read([names]), on: .writer, into: &work, now: now)
    }
    while readQueue.first != nil {
      var reads: [(id: ReplicaID, number: UInt64)] = []
      var names: [KeyNames] = []
      while reads.count < Self.keysInOneRead, let id = readQueue.popFirst() {
        guard let number = members[id]?.replica.beginRead(), let name = members[id]?.names else { continue }
        members[id]?.isReadQueued = false
        reads.append((id, number))
        names.append(name)
      }
      guard !reads.isEmpty else { return }
      request(.read(reads), .read(names), on: .writer, into: &work, now: now)
    }
  }

  mutating func takeCommits(into work: inout Work, now: ContinuousClock.Instant) {
    while let (at, id) = retries.first, at <= now {
      _ = retries.popFirst()
      apply(members[id]?.replica.retry(), to: id)
    }
    while work.snapshots.count + work.requests.count < Self.commitsInOneBatch,
      commitsUnderWay + work.snapshots.count < Self.maximumCommits,
      commitBytesUnderWay < Self.maximumCommitBytes,
      let id = commitQueue.popFirst()
    {
      members[id]?.isCommitQueued = false
      if let request = commitRequest(for: id, now: now) {
        work.requests.append(request)
      } else if members[id]?.replica.beginEncoding() ?? false {
        work.snapshots.append(id)
      }
    }
  }

  mutating func commitRequest(for id: ReplicaID, now: ContinuousClock.Instant) -> RedisRequest? {
    guard session.phase == .connected, exchanges[.writer] != nil, let draft = members[id]?.replica.takeDraft(),
      let names = members[id]?.names
    else { return nil }
    commitsUnderWay += 1
    commitBytesUnderWay += draft.document.count
    let number = exchanges[.writer]?.register(
      .commit(id, draft.operation, bytes: draft.document.count),
      now: now
    )
    return number.map {
      RedisRequest(
        id: $0,
        command: .commit(
          Commit(
            names: names,
            content: .document(draft.document, isLarge: draft.document.count > configuration.inlineLimit),
            condition: draft.condition,
            floor: draft.floor,
            operation: draft.operation,
            writer: configuration.writer
          )
        )
      )
    }
  }

  mutating func request(
    _ request: Request,
    _ command: RedisRequest.Command,
    on purpose: ConnectionPurpose,
    into work: inout Work,
    now: ContinuousClock.Instant
  ) {
    guard let id = exchanges[purpose]?.register(request, now: now) else { return }
    work.requests.append(RedisRequest(id: id, command: command))
  }
}
