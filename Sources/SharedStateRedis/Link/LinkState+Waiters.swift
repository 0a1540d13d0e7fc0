import DequeModule
import SharedState

/// Waiters for a replica or for an answer, each with a deadline.
extension LinkState {
  typealias Waiter = WaitList.Waiter

  /// Requests to save the present value of a replica, which has this stamp.
  mutating func save(
    _ id: ReplicaID,
    stamp: UInt64 = .max,
    replacingUnreadable: Bool = false,
    replicas: RedisReplicas? = nil,
    within timeout: Duration? = nil,
    now: Instant,
    keeping box: RetainedBox? = nil,
    callback: @escaping WaiterCallback = { _ in }
  ) throws(RedisSharedStateError) -> WaiterID {
    let waiter = try makeWaiter(
      for: id,
      call: .save,
      replicas: replicas ?? optionalReplicas(of: id),
      within: timeout,
      now: now,
      callback: callback
    )
    // Only once the save is accepted: otherwise nothing would ever settle it.
    keep(box, of: id)
    let actions = members[id]?.replica.save(waiter: waiter, stamp: stamp, replacingUnreadable: replacingUnreadable)
    begin(waiter, of: id, actions)
    return waiter
  }

  /// Requests an atomic update of a replica's stored value.
  mutating func update(
    _ id: ReplicaID,
    with update: AtomicUpdate? = nil,
    within timeout: Duration? = nil,
    now: Instant,
    callback: @escaping WaiterCallback = { _ in }
  ) throws(RedisSharedStateError) -> WaiterID {
    let waiter = try makeWaiter(
      for: id,
      call: .update,
      replicas: optionalReplicas(of: id),
      within: timeout,
      now: now,
      update: update,
      callback: callback
    )
    begin(waiter, of: id, members[id]?.replica.update(waiter: waiter))
    return waiter
  }

  /// Requests to delete a replica's stored value, and the local changes up to a stamp.
  mutating func reset(
    _ id: ReplicaID,
    stamp: UInt64,
    within timeout: Duration? = nil,
    now: Instant,
    keeping box: RetainedBox? = nil,
    callback: @escaping WaiterCallback = { _ in }
  ) throws(RedisSharedStateError) -> WaiterID {
    let waiter = try makeWaiter(
      for: id,
      call: .reset,
      replicas: optionalReplicas(of: id),
      within: timeout,
      now: now,
      callback: callback
    )
    keep(box, of: id)
    begin(waiter, of: id, members[id]?.replica.reset(waiter: waiter, stamp: stamp))
    return waiter
  }

  /// Requests to load a replica's stored value.
  mutating func load(
    _ id: ReplicaID,
    within timeout: Duration? = nil,
    now: Instant,
    callback: @escaping WaiterCallback = { _ in }
  ) throws(RedisSharedStateError) -> WaiterID {
    let waiter = try makeWaiter(for: id, call: .load, within: timeout, now: now, callback: callback)
    begin(waiter, of: id, members[id]?.replica.load(waiter: waiter))
    return waiter
  }

  /// Requests to read the value stored under a name, without sharing it.
  mutating func read(
    _ names: KeyNames,
    maximumBytes: Int,
    within timeout: Duration? = nil,
    now: Instant,
    callback: @escaping WaiterCallback = { _ in }
  ) throws(RedisSharedStateError) -> WaiterID {
    let waiter = try makeWaiter(for: nil, call: .read, within: timeout, now: now, callback: callback)
    // Without a connection, nothing else shortens the queue.
    while let oldest = onceReads.first, waiters[oldest.waiter] == nil { _ = onceReads.popFirst() }
    onceReads.append(OnceRead(names: names, waiter: waiter, maximumBytes: maximumBytes))
    start()
    wake()
    refuse(waiter)
    return waiter
  }

  /// Requests that every change so far is acknowledged before a deadline. Returns one waiter for each replica with a
  /// pending change.
  mutating func flush(
    until deadline: Instant,
    callback: @escaping WaiterCallback = { _ in }
  ) -> [WaiterID] {
    var flushed: [WaiterID] = []
    for id in members.ids {
      let actions = members[id]?.replica.flush(waiter: waiters.next)
      guard actions != nil || replication.change(of: id) != nil else { continue }
      let replicas = optionalReplicas(of: id)
      let flush = Waiter(call: .flush, replica: id, deadline: deadline, callback: callback, replicas: replicas)
      flushed.append(waiters.add(flush))
      // The server has the change, but too few of its replicas have it.
      if actions == nil { awaitReplicas(flushed.suffix(1), of: id) }
      apply(actions, to: id)
      retrySooner(id)
    }
    if session.phase == .stopped {
      for waiter in flushed { end(waiter, .stopped) }
    } else if !flushed.isEmpty {
      wake(by: deadline)
      for waiter in flushed { refuse(waiter) }
    }
    return flushed
  }

  /// Notes a change that no replica will ever send. It is logged once until a flush reports it.
  mutating func noteGivenUp(_ name: String, _ error: RedisSharedStateError, _ attachment: (any ReplicaAttachment)?) {
    if !givenUp.contains(Name(name)) { emit(.incident(name: name, .gaveUp(error))) }
    givenUp.insert(Name(name), AttachmentReference(attachment))
  }

  /// The program has read the save error of a share.
  mutating func saveErrorWasRead(_ id: ReplicaID, _ error: RedisSharedStateError) {
    members[id]?.replica.reports.wasRead(error)
  }

  /// The program was notified of all changes of a share that were given up.
  mutating func discardedWasReported(_ id: ReplicaID) {
    members[id]?.replica.reports.takeDiscarded()
  }

  /// A waiter has stopped waiting.
  mutating func forget(_ waiter: WaiterID) {
    replication.forget(.waiter(waiter))
    if let replica = waiters.remove(waiter)?.replica { members[replica]?.replica.forget(waiter: waiter) }
  }

  /// Slow user code of the value keeps these waiters from being resumed with an outcome. Their deadlines still count.
  mutating func keepBack(_ ids: [WaiterID], _ kept: [Waiter], _ error: RedisSharedStateError?) {
    for (id, waiter) in zip(ids, kept) { waiters.keepBack(waiter, as: id, error.map(Result.failure) ?? .success(())) }
  }

  /// The user code has ended. Takes those of the waiters that still wait, for the caller to resume.
  mutating func takeKeptBack(_ ids: [WaiterID]) -> [Waiter] { ids.compactMap { waiters.remove($0) } }

  /// Resumes a waiter with an error before its replica does.
  private mutating func end(_ waiter: WaiterID, _ error: RedisSharedStateError) {
    if let replica = waiters[waiter]?.replica { members[replica]?.replica.forget(waiter: waiter) }
    resume([waiter], error)
  }

  /// A caller has stopped waiting for an atomic update.
  ///
  /// - Returns: Whether the update may still take effect, or already has.
  mutating func cancelUpdate(_ waiter: WaiterID) -> Bool {
    guard let known = waiters[waiter] else { return true }
    let isUnderWay =
      known.outcome != nil
      || known.replica.flatMap { members[$0]?.replica.isUnderWay(update: waiter) } ?? false
      || replication.shortage(of: waiter) != nil
    forget(waiter)
    return isUnderWay
  }

  /// Performs a replica's actions for a new waiter.
  private mutating func begin(_ waiter: WaiterID, of id: ReplicaID, _ actions: [Replica.Action]?) {
    apply(actions, to: id)
    retrySooner(id)
    refuse(waiter)
  }

  mutating func makeWaiter(
    for replica: ReplicaID?,
    call: Waiter.Call,
    replicas: RedisReplicas = 0,
    within timeout: Duration? = nil,
    now: Instant,
    update: AtomicUpdate? = nil,
    callback: @escaping WaiterCallback
  ) throws(RedisSharedStateError) -> WaiterID {
    if session.phase == .stopped { throw .stopped }
    replication.use(replicas)
    let deadline = now + (timeout ?? configuration.operationTimeout)
    let waiter = Waiter(
      call: call,
      replica: replica,
      deadline: deadline,
      callback: callback,
      update: update,
      replicas: replicas
    )
    defer { wake(by: deadline) }
    return waiters.add(waiter)
  }

  /// The replicas that the option of a value asks for.
  private func optionalReplicas(of id: ReplicaID) -> RedisReplicas { members[id]?.replica.policy.replicas ?? 0 }

  mutating func expireWaiters(now: Instant) {
    while let waiter = waiters.popExpired(now: now) { expire(waiter, now: now) }
  }

  /// The server refuses this service, so waiting is pointless. Atomic updates that were sent may still be answered.
  mutating func refuseWaiters() {
    for waiter in waiters.ids { refuse(waiter) }
  }

  private mutating func refuse(_ waiter: WaiterID) {
    guard let error = session.refusal, let known = waiters[waiter], known.outcome == nil,
      replication.shortage(of: waiter) == nil
    else { return }
    if let replica = known.replica.flatMap({ members[$0]?.replica }), replica.isUnderWay(update: waiter) { return }
    end(waiter, error)
  }

  private mutating func expire(_ waiter: WaiterID, now: Instant) {
    guard let known = waiters[waiter] else { return }
    if known.outcome != nil { return resume([waiter], .timedOut(operation: known.call.rawValue)) }
    if let error = shortage(of: waiter) { return resume([waiter], error) }
    let replica = known.replica.flatMap { members[$0]?.replica }
    if let replica, replica.isUnderWay(update: waiter) {
      return end(waiter, .outcomeUnknown(name: replica.name))
    }
    // The reason why the server does not answer says more than the fact that it does not.
    let breaking =
      known.replica.flatMap { id -> ConnectionBreakers.Kind? in
        isBreaking(id, .commit) ? .commit : isBreaking(id, .read) ? .read : nil
      }
    let reason = session.phase == .connected ? replica?.refusal(of: waiter) : session.lastError
    if breaking == nil, reason == nil, let id = known.replica, let error = contention(for: waiter, of: id, now: now) {
      // The program may read the save error as soon as it is resumed.
      apply(members[id]?.replica.outpaced(error), to: id)
      return end(waiter, error)
    }
    end(waiter, breaking?.error ?? reason ?? .timedOut(operation: known.call.rawValue))
  }

  /// Why a caller waits for a commit although the server answers; `nil`: the server does not, or it is no commit that
  /// the caller waits for.
  private func contention(for waiter: WaiterID, of id: ReplicaID, now: Instant) -> RedisSharedStateError? {
    guard session.phase == .connected, let member = members[id], member.turns.isTurnedAway(now: now),
      !member.replica.outstandingReads.isLoading(waiter)
    else { return nil }
    return .outpaced(name: member.replica.name)
  }

  /// Wakes the thread, unless it wakes up by the deadline anyway.
  private mutating func wake(by deadline: Instant) {
    if !sleep.ends(by: deadline) { wake() }
  }
}
