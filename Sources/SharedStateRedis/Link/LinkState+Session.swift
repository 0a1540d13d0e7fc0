import SharedState

/// Connections that open and break.
extension LinkState {
  /// The server is needed.
  mutating func start() {
    guard session.phase == .idle else { return }
    session.start()
    publishStatus()
    emit(.wake)
  }

  /// Closes the connections if the link is not in use and is configured to rest then.
  mutating func restIfUnused() {
    guard configuration.restsWhenUnused, members.isEmpty, waiters.isEmpty, session.phase != .idle else { return }
    session.rest()
    online = nil
    replication.disconnect()
    publishStatus()
    emit(.wake)
  }

  /// Makes what is valid on these connections only.
  private mutating func begin(
    _ facts: PerConnection<ServerFacts>,
    _ circumstances: Replica.Circumstances,
    now: Instant
  ) {
    if let runID = facts[.writer].runID { keepAlive.connected(to: runID) }
    // A server that does not reveal its era has another one for each session.
    let vitals =
      facts[.writer].vitals.map(known) ?? Vitals(era: Era(UInt32.random(in: .min ... .max, using: &random)))
    let (timeout, interval) = (configuration.requestTimeout, keepAlive.interval)
    let exchange = Exchange<Request>(openedAt: now, timeout: timeout, keepAlive: interval)
    online = Online(facts, circumstances, vitals, exchange, now: now)
    if vitals.evictions == nil { vitalsRefused() }
  }

  /// Stops the link, and resumes all waiters.
  mutating func stop() {
    guard session.phase != .stopped else { return }
    session.stop()
    for id in members.ids {
      guard let replica = members[id]?.replica else { continue }
      // An observer may stop the link as soon as the box shows the value, before the box is known to show it.
      resume(awaitReplicas(replica.outcomes.finished, of: id), nil)
      resume(replica.updatesUnderWay, .outcomeUnknown(name: replica.name))
    }
    for waiter in replication.waiters() { resume([waiter], shortage(of: waiter)) }
    resume(waiters.ids, .stopped)
    for id in members.ids {
      publish(id, .loading(false))
      publish(id, .loadError(.stopped))
      if members[id]?.replica.hasPendingChange ?? false { publish(id, .saveError(.stopped)) }
      settle(id)
    }
    publishStatus()
    emit(.wake)
  }

  /// Whether a thread may be started: the pause after a failed attempt is over, or there is none.
  mutating func mayStartThread(now: Instant) -> Bool {
    if case .wait = session.instruction(now: now) { return false }
    return true
  }

  /// User code waits, and no thread can be started for it. Until that is over (`nil`), values may be stale,
  /// and their `loadError` says so.
  mutating func heldUp(by error: RedisSharedStateError?) {
    for id in members.ids { apply(members[id]?.replica.heldUp(by: error), to: id) }
  }

  /// Returns what the thread does next.
  mutating func instruction(now: Instant) -> Session.Instruction {
    expireWaiters(now: now)
    let instruction = session.instruction(now: now)
    guard case .wait(let until) = instruction else { return instruction }
    return .wait(until: sleepUntilDeadline(atMost: until))
  }

  /// The thread begins to sleep until the deadline of a waiter, or this time.
  mutating func sleepUntilDeadline(atMost until: Instant) -> Instant {
    let deadline = min(waiters.earliestDeadline ?? until, until)
    sleep.begin(until: deadline)
    return deadline
  }

  /// Both connections are open.
  mutating func connected(_ facts: PerConnection<ServerFacts>, epoch: UInt64, now: Instant) {
    guard epoch == session.epoch else { return }
    session.noteLoad(facts[.writer])
    guard Set(facts.values.compactMap(\.runID)).count <= 1 else {
      // An announcement by one server says nothing about a value read from another.
      let error = RedisSharedStateError.disconnected(reason: "the two connections lead to different servers")
      return failed(epoch: epoch, error: error, now: now)
    }
    guard session.connected(epoch: epoch) else { return }
    certificates.connected(with: facts[.writer].certificates)
    measurements.connected(with: certificates.certificates)
    let circumstances = Replica.Circumstances(
      runID: facts[.writer].runID,
      mayRestore: lastHeard.map { now - $0 < .seconds(CommitScript.tombstoneLifetimeInSeconds) } ?? true
    )
    begin(facts, circumstances, now: now)
    breaks.acquitReads(runID: circumstances.runID)
    // This comes before everything else, so that no value is announced or read without being tracked.
    askForTracking()
    // Each service has its own order. So when a server has lost everything, the services do not all restore the same
    // values at the same time, not even after one has caught up with another.
    let ids = members.ids
    let stretches = stride(from: 0, to: ids.count, by: RestoreScript.maximumValues).shuffled(using: &random)
    for first in stretches {
      for id in ids[first..<min(first + RestoreScript.maximumValues, ids.count)] {
        guard let channel = members[id]?.replica.names.channel,
          listeners[Name(channel)]?.first == id
        else { continue }
        if isSuspect(id) {
          online?.subscriptions.subscribe(together: [channel])
        } else {
          online?.subscriptions.subscribe(to: channel)
        }
      }
    }
    for id in ids {
      members[id]?.replica.connected(circumstances)
      resumePauses(of: id)
      members[id]?.online = OnlineMember(reading: ReadState(antiEntropyPart: Double.random(in: 0..<1, using: &random)))
      awaitCatchingUp(of: id)
    }
    if listeners.isEmpty { served(epoch: epoch) }
    publishStatus()
    wake()
  }

  /// Learns how soon a server closes idle connections, so that a PING is sent before that.
  private mutating func learnFromEnd(_ error: RedisSharedStateError, epoch: UInt64, now: Instant) {
    guard error.code == .disconnected, session.phase == .connected, epoch == session.epoch,
      let exchange = online?.exchanges[.writer], exchange.count == 0,
      keepAlive.closed(afterIdle: now - exchange.lastHeard, now: now)
    else { return }
    emit(.closesIdleConnections(askedAfter: keepAlive.interval))
  }

  /// Another server has taken over. Later replies of the present one do not count.
  mutating func moved(now: Instant) {
    guard session.endPause(now: now) else { return failed(epoch: session.epoch, error: .moved, now: now) }
    wake()
  }

  /// A connection could not be opened, or broke.
  mutating func failed(epoch: UInt64, error: RedisSharedStateError, now: Instant) {
    let jitter = Double.random(in: 0..<1, using: &random)
    let known = session.phase == .connected ? nil : session.lastError
    if session.phase == .connected, epoch == session.epoch {
      // Signs of life on connections that have served no purpose do not count.
      if let online, online.hasServed {
        lastHeard = online.exchanges.values.map(\.lastHeard).min()
        // A connection that lasted for longer than any pause counts as a success.
        if online.openedAt + configuration.backoff.cap <= now { session.succeeded(epoch: epoch) }
      }
    }
    learnFromEnd(error, epoch: epoch, now: now)
    guard session.failed(epoch: epoch, error: error, now: now, random: jitter) else { return }
    for waiter in onceReadsUnderWay {
      resume([waiter], error)
    }
    if session.refusal != nil { refuseWaiters() }
    let culprits = noteBreak(error)
    takeSnapshot(now: now, isUrgent: true)
    online = nil
    replication.disconnect()
    // A hundred thousand shares need not learn of every attempt that fails for the same reason.
    for id in known == error ? [] : members.ids {
      members[id]?.online = nil
      members[id]?.turns.interrupted()
      apply(members[id]?.replica.disconnected(error), to: id)
    }
    for (id, kind) in culprits {
      refused(id, kind == .read ? .read : .commit, kind.error, breaksConnection: true, now: now)
    }
    publishStatus()
    wake()
  }
}
