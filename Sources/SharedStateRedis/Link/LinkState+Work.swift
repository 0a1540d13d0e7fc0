import SharedState

/// Sends subscriptions and commits, in batches and within bounds. Reads are in LinkState+Reads.swift.
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
    return deadline
  }

  /// The effect of one of the ``Work/encodings``, which needs the updates of its waiters.
  func effect(of encoding: Replica.Encoding, for id: ReplicaID) -> Effect {
    var updates: [WaiterID: AtomicUpdate] = [:]
    for waiter in encoding.updates { updates[waiter] = waiters[waiter]?.update }
    return .encode(id, encoding, updates, members[id]?.attachment)
  }

  /// Takes the result of one of the ``Work/encodings``. Returns the request to send for it.
  mutating func encoded(
    _ id: ReplicaID,
    _ encoded: Replica.Encoded,
    isQuick: Bool = false,
    now: Instant
  ) -> RedisRequest? {
    endEncoding(of: id)
    members[id]?.encodesQuickly = isQuick
    let operation = Operation(writer: configuration.nonce, number: nextOperation)
    nextOperation += 1
    beginSending(id)
    apply(members[id]?.replica.encoded(encoded, operation: operation), to: id)
    let hasCommit = endSending()
    defer { wakeIfThereIsRoom() }
    if online?.reads.isHoldingBack ?? false || holdsBack(id) {
      queueCommit(of: id)
      return nil
    }
    let request = commitRequest(for: id, now: now)
    if hasCommit, request == nil { queueCommit(of: id) }
    return request
  }

  /// One of the ``Work/encodings`` has to wait, because a closure of the program is using the value.
  mutating func locked(_ id: ReplicaID) {
    endEncoding(of: id)
    apply(members[id]?.replica.locked(), to: id)
    wakeIfThereIsRoom()
  }

  /// The closure has ended. This call may come before ``locked(_:)``.
  mutating func unlocked(_ id: ReplicaID) {
    apply(members[id]?.replica.unlocked(), to: id)
  }

  mutating func beginEncoding(of id: ReplicaID) -> Replica.Encoding? {
    guard let encoding = members[id]?.replica.beginEncoding() else { return nil }
    let size = encoding.stored.content.size
    endEncoding(of: id)
    members[id]?.online?.encodingSize = size
    online?.commits.beginEncoding(bytes: size)
    return encoding
  }

  mutating func endEncoding(of id: ReplicaID) {
    guard let size = members[id]?.online?.encodingSize.take() else { return }
    online?.commits.endEncoding(bytes: size)
  }

  /// Wakes the thread for a commit that may have waited for room, because nothing else does.
  private mutating func wakeIfThereIsRoom() {
    if online?.commits.isWaitingForRoom ?? false || online?.suspects.queue.first != nil { wake() }
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

  /// Queues a replica that has something to commit.
  mutating func queueCommit(of id: ReplicaID) {
    // When the pause is over, the replica asks to commit again.
    guard !(members[id]?.online?.isCommitQueued ?? true), !isCommitPausing(id), !takeAtOnce(id) else { return }
    members[id]?.online?.isCommitQueued = true
    if breaks.isSuspect(id, .commit) { online?.suspects.queue.append(id) } else { online?.commits.append(id) }
    wake()
  }

  mutating func takeCommits(into work: inout Work, now: Instant) {
    guard online?.suspects.alone == nil, !(online?.reads.isHoldingBack ?? false) else { return }
    let isTurn = online?.suspects.isTurn(at: now) ?? false
    if isTurn, online?.commits.underWay ?? 0 > 0 || takeSuspect(into: &work, now: now) { return }
    while work.count < Self.commitsInOneBatch, let id = online?.commits.popFirst() {
      members[id]?.online?.isCommitQueued = false
      if let request = commitRequest(for: id, now: now) {
        work.requests.append(request)
      } else if let encoding = beginEncoding(of: id) {
        work.encodings.append((id, encoding))
      }
    }
    if online?.commits.isIdle ?? false { _ = takeSuspect(into: &work, now: now) }
  }

  mutating func commitRequest(for id: ReplicaID, now: Instant) -> RedisRequest? {
    let (next, vitals) = (Operation(writer: configuration.nonce, number: nextOperation), latestVitals)
    guard session.phase == .connected,
      let commit = members[id]?.takeCommit(next, vitals)
    else { return nil }
    if commit.isRetry { measurements.retried() } else if commit.isMerge { measurements.merged() }
    nextOperation = max(nextOperation, commit.operation.number + 1)
    online?.commits.begin(bytes: commit.bytes)
    if breaks.isSuspect(id, .commit) { online?.suspects.sent(id, now: now) }
    let request = Request.commit(id, commit.operation, bytes: commit.bytes, sentAt: now)
    let number = online?.exchanges[.writer].register(request, now: now)
    let command = commit.command.providing(secrets.newest, reservation: members[id]?.takeTurn() ?? 0)
    return number.map { RedisRequest(id: $0, command: command) }
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

// This is a mutating method, because reading a part of a member in the table would copy the member with each commit.
extension LinkState.Member {
  /// Takes the next commit, if there is one.
  fileprivate mutating func takeCommit(_ nextOperation: Operation, _ vitals: Vitals) -> Replica.Sending? {
    guard let next = replica.takeCommit(vitals: vitals, nextOperation: { nextOperation }) else { return nil }
    // An adoption does not write the value.
    if case .commit(let commit) = next.command, commit.isAdoption { return next }
    online?.reading.committed()
    return next
  }

  /// Returns the reservation that the commit asks for, in milliseconds.
  fileprivate mutating func takeTurn() -> UInt64 {
    turns.send(isRepeated: replica.repeatsConflicts, over: replica.confirmed.revision)
  }
}

extension RedisRequest.Command {
  /// The command with a secret to be stored if there is none, and with a reservation to ask for.
  fileprivate func providing(_ secret: Secret, reservation: UInt64) -> Self {
    switch self {
    case .commit(var commit):
      commit.secret = secret
      commit.reservation = reservation
      return .commit(commit)
    case .restore(var restore):
      restore.secret = secret
      return .restore(restore)
    default: return self
    }
  }
}

/// Whether the thread sleeps.
struct Sleep: Sendable {
  private var isUnderWay = false
  /// Until when at most; `nil` if it has not slept yet.
  private var until: Instant?

  /// Whether the thread looks at the deadlines at this moment or earlier.
  func looks(by deadline: Instant) -> Bool { until.map { $0 <= deadline } ?? false }

  /// The thread begins to sleep. From now on a change has to wake it.
  mutating func begin(until deadline: Instant) { (isUnderWay, until) = (true, deadline) }

  /// The thread is awake, or is being woken. Returns whether it slept.
  mutating func end() -> Bool {
    defer { isUnderWay = false }
    return isUnderWay
  }
}
