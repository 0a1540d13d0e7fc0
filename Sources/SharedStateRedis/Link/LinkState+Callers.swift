/// Commits that are sent immediately, without being queued. Most of them are sent by the caller that has changed the
/// value, while the thread of the link sleeps.
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

  /// The caller that changes a value next encodes and sends the commit itself, if nothing else is under way and that
  /// took little time before.
  mutating func beginCall(of id: ReplicaID) {
    guard session.phase == .connected, online?.commits.isIdle ?? false, breaks.isEmpty,
      !(online?.reads.isHoldingBack ?? true), members[id]?.encodesQuickly ?? false,
      !(members[id]?.online?.isCommitQueued ?? true)
    else { return }
    beginSending(id)
  }

  /// Returns the encoding for the caller to perform; `nil`: there is nothing to commit, or the thread does that.
  mutating func endCall(of id: ReplicaID) -> Effect? {
    guard endSending() else { return nil }
    if let encoding = beginEncoding(of: id) { return effect(of: encoding, for: id) }
    queueCommit(of: id)
    return nil
  }

  /// A caller sends its commit on the writer's connection. The thread has to be awake by the time when the answer may
  /// be overdue. The callers' first commit after a while wakes it for that.
  ///
  /// - Returns: What the caller sends as well.
  mutating func callerSends(now: Instant) -> [RedisRequest] {
    online?.calledAt = now
    if !sleep.looks(by: now + configuration.requestTimeout) { wake() }
    var work = Work(waitUntil: now)
    takeVitals(isActive: true, into: &work, now: now)
    return work.requests
  }
}
