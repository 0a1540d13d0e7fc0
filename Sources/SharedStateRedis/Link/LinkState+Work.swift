import SharedState

/// What is sent next on a connection. Commits are in LinkState+Commits.swift, reads in LinkState+Reads.swift.
extension LinkState {
  /// Returns what the thread sends on a connection now, and how long it may wait for input afterwards.
  ///
  /// - Returns: `nil` if the connections have to be closed: they are of another epoch, or an answer is overdue.
  mutating func work(
    for purpose: ConnectionPurpose,
    epoch: UInt64,
    now: Instant
  ) -> Work? {
    expireWaiters(now: now)
    guard epoch == session.epoch, session.phase == .connected else { return nil }
    if online?.exchanges[purpose].isOverdue(now: now) ?? false {
      failed(epoch: epoch, error: .timedOut(operation: "the reply on the \(purpose.rawValue) connection"), now: now)
      return nil
    }
    var work = Work(waitUntil: now)
    // What is due may concern either connection.
    takeAgenda(now: now)
    takeSnapshot(now: now)
    switch purpose {
    case .subscriber: takeSubscriptions(into: &work, now: now)
    case .writer:
      takeSecret(into: &work, now: now)
      takeTracking(into: &work, now: now)
      takeVitals(into: &work, now: now)
      takeBases(into: &work, now: now)
      takeReads(into: &work, now: now)
      takeChecks(into: &work, now: now)
      takeCommits(into: &work, now: now)
      // Behind the commits, which it would delay.
      takeReplication(into: &work, now: now)
    }
    let needsPing = online?.exchanges[purpose].needsPing(now: now) ?? false
    switch purpose {
    case .subscriber where needsPing || online?.vitals.isHearingBehind ?? false:
      let heard = online?.vitals.hear()
      request(heard.map { .hearing($0) } ?? .ping, .ping, on: purpose, into: &work, now: now)
    // A primary may have become a replica without closing the connection.
    case .writer where needsPing && online?.asksForRole ?? true:
      request(.role, .role, on: purpose, into: &work, now: now)
    case .writer where needsPing: request(.ping, .ping, on: purpose, into: &work, now: now)
    case .subscriber, .writer: break
    }
    // After a full batch there is most likely more to send.
    if work.count < Self.commitsInOneBatch { work.waitUntil = nextDeadline(of: purpose, behind: work, now: now) }
    return work
  }

  /// Until when a connection has nothing to do behind this work, unless something happens.
  private func nextDeadline(of purpose: ConnectionPurpose, behind work: Work, now: Instant) -> Instant {
    var deadline = online?.exchanges[purpose].nextDeadline ?? now
    guard purpose == .writer else {
      if let at = online?.subscriptions.next, online?.tracking.state != .requested { deadline = min(deadline, at) }
      return deadline
    }
    // The commits that are encoded, or that callers will send, have no deadline yet.
    let hasCallers = online?.calledAt.map { now < $0 + configuration.requestTimeout } ?? false
    if !work.encodings.isEmpty || hasCallers { deadline = min(deadline, now + configuration.requestTimeout) }
    if let at = online?.next { deadline = min(deadline, at) }
    if let at = replication.next { deadline = min(deadline, at) }
    if let at = waiters.earliestDeadline { deadline = min(deadline, at) }
    if let at = certificates.next { deadline = min(deadline, at) }
    if let at = snapshots.next { deadline = min(deadline, at) }
    return deadline
  }

  mutating func takeSubscriptions(into work: inout Work, now: Instant) {
    // An announced value may be gone before it is read, and then only an invalidation reports it.
    let mayListen = online?.tracking.state != .requested
    while let next = online?.subscriptions.next(for: listeners, mayListen: mayListen, now: now) {
      switch next {
      case .subscribeInvalidations:
        let channel = "\(KeyNames.invalidationChannel)"
        request(.subscribeInvalidations, .subscribe([channel]), on: .subscriber, into: &work, now: now)
      case .subscribe(let channels):
        request(.subscribe(channels), .subscribe(channels), on: .subscriber, into: &work, now: now)
      case .unsubscribe(let channels):
        request(.unsubscribe, .unsubscribe(channels), on: .subscriber, into: &work, now: now)
      }
    }
  }

  /// Asks for the secret of the namespace.
  mutating func takeSecret(into work: inout Work, now: Instant) {
    guard online?.secretReads.takeQuestion(now: now) ?? false else { return }
    let key = KeyNames.secret(of: configuration.namespace)
    let candidate = configuration.access == .readWrite ? secrets.newest : nil
    request(.secret, .secret(key: key, candidate: candidate), on: .writer, into: &work, now: now)
  }

  mutating func request(
    _ request: Request,
    _ command: RedisRequest.Command,
    bound: ReplyBound? = nil,
    on purpose: ConnectionPurpose,
    into work: inout Work,
    now: Instant
  ) {
    guard let id = online?.exchanges[purpose].register(request, now: now) else { return }
    work.requests.append(RedisRequest(id: id, command: command, bound: bound))
  }
}
