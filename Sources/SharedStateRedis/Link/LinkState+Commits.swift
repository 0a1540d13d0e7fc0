/// The way of a commit: a value has changed, it is encoded, and the commit is sent.
///
/// While nothing else is under way and the thread of the link sleeps, the caller that has changed the value does all of
/// that: ``changed(_:keeping:)``, ``endCall(of:)``, ``encoded(_:_:isQuick:now:)``. Everything else goes through
/// ``queueCommit(of:)``, and the thread takes it in ``takeCommits(into:now:)``.
extension LinkState {
  /// A value whose commit is not queued.
  struct Sender: Sendable {
    let id: ReplicaID
    var hasCommit = false
  }

  /// Does not queue the next commit of a value.
  mutating func beginSending(_ id: ReplicaID) { sender = Sender(id: id) }

  /// Returns whether there is a commit of that value.
  mutating func endSending() -> Bool { sender.take()?.hasCommit ?? false }

  /// Notes a commit that is sent immediately; `false`: it has to be queued.
  mutating func takeAtOnce(_ id: ReplicaID) -> Bool {
    guard sender?.id == id else { return false }
    sender?.hasCommit = true
    return true
  }

  // MARK: On the caller's thread

  /// The caller that changes a value next encodes and sends the commit itself, if nothing else is under way and that
  /// took little time before.
  mutating func beginCall(of id: ReplicaID) {
    guard session.phase == .connected, online?.commits.isIdle ?? false, breaks.isEmpty,
      !(online?.reads.isHoldingBack ?? true), members[id]?.encodesQuickly ?? false,
      !(members[id]?.online?.isCommitQueued ?? true)
    else { return }
    beginSending(id)
  }

  /// A local mutation was made since the last snapshot. Its box is kept until the server has acknowledged the mutation.
  mutating func changed(_ id: ReplicaID, keeping box: RetainedBox? = nil) {
    keep(box, of: id)
    if session.phase == .stopped {
      publish(id, .saveError(.stopped))
      settle(id)
      if let member = members[id] { noteGivenUp(member.replica.name, .stopped, member.attachment.attachment) }
    } else {
      apply(members[id]?.replica.changed(), to: id)
    }
  }

  /// Returns the encoding for the caller to perform; `nil`: there is nothing to commit, or the thread does that.
  mutating func endCall(of id: ReplicaID) -> Effect? {
    guard endSending() else { return nil }
    if let encoding = beginEncoding(of: id) { return effect(of: encoding, for: id) }
    queueCommit(of: id)
    return nil
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
    let isSuspect = breaks.isSuspect(id, .commit)
    if online?.reads.isHoldingBack ?? false || online?.commits.holdsBack(isSuspect: isSuspect) ?? false {
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
    if online?.commits.isWaitingForRoom ?? false { wake() }
  }

  /// A caller sends its commit on the writer's connection. The thread has to be awake by the time when the answer may
  /// be overdue. The callers' first commit after a while wakes it for that.
  ///
  /// - Returns: What the caller sends as well.
  mutating func callerSends(now: Instant) -> [RedisRequest] {
    online?.calledAt = now
    if !sleep.ends(by: now + configuration.requestTimeout) { wake() }
    var work = Work(waitUntil: now)
    takeVitals(isActive: true, into: &work, now: now)
    return work.requests
  }

  // MARK: In its turn

  /// Queues a replica that has something to commit.
  mutating func queueCommit(of id: ReplicaID) {
    // When the pause is over, the replica asks to commit again.
    guard !(members[id]?.online?.isCommitQueued ?? true), !isCommitPausing(id), !takeAtOnce(id) else { return }
    members[id]?.online?.isCommitQueued = true
    online?.commits.append(id, isSuspect: breaks.isSuspect(id, .commit))
    wake()
  }

  mutating func takeCommits(into work: inout Work, now: Instant) {
    guard !(online?.reads.isHoldingBack ?? false) else { return }
    while work.count < Self.commitsInOneBatch, let id = online?.commits.popNext(now: now) {
      members[id]?.online?.isCommitQueued = false
      if let request = commitRequest(for: id, now: now) {
        work.requests.append(request)
      } else if let encoding = beginEncoding(of: id) {
        work.encodings.append((id, encoding))
      }
    }
  }

  mutating func commitRequest(for id: ReplicaID, now: Instant) -> RedisRequest? {
    let (next, vitals) = (Operation(writer: configuration.nonce, number: nextOperation), latestVitals)
    guard session.phase == .connected,
      let commit = members[id]?.takeCommit(next, vitals)
    else { return nil }
    if commit.isRetry { measurements.retried() } else if commit.isMerge { measurements.merged() }
    nextOperation = max(nextOperation, commit.operation.number + 1)
    online?.commits.begin(id, bytes: commit.bytes, isSuspect: breaks.isSuspect(id, .commit), now: now)
    let request = Request.commit(id, commit.operation, bytes: commit.bytes, sentAt: now)
    let number = online?.exchanges[.writer].register(request, now: now)
    let command = commit.command.providing(secrets.newest, reservation: members[id]?.takeTurn() ?? 0)
    return number.map { RedisRequest(id: $0, command: command) }
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
