import Foundation
import SharedState

/// Arrivals: replies and messages.
extension LinkState {
  /// A connection was checked for input. Replies and messages arrived, or nothing did.
  ///
  /// - Parameter hasHeard: Whether bytes arrived, even if they are only a part of a reply or a message.
  mutating func arrived(
    _ events: [RedisEvent],
    hasHeard: Bool = false,
    on purpose: ConnectionPurpose,
    epoch: UInt64,
    now: Instant
  ) {
    _ = sleep.end()
    guard epoch == session.epoch, session.phase == .connected else { return }
    defer { measurements.notePending() }
    received(purpose, hasHeard: hasHeard || !events.isEmpty, now: now)
    var isDemoted = false
    for event in events {
      guard epoch == session.epoch else { return }
      switch event {
      case .message(let channel, let payload):
        announced(payload, on: channel, now: now)
      case .invalidated(let keys):
        invalidated(keys, now: now)
      case .reply(let id, let reply):
        guard let request = online?.exchanges[purpose].answered(id) else { continue }
        if case .commit = request, case .failure(let error) = reply, error == .notPrimary { isDemoted = true }
        answered(request, reply, epoch: epoch, now: now)
      }
    }
    // Another server may be the primary now. Before that, every other refused commit has to learn that it has not taken
    // effect.
    if isDemoted { failed(epoch: epoch, error: .notPrimary, now: now) }
  }

  private mutating func received(_ purpose: ConnectionPurpose, hasHeard: Bool, now: Instant) {
    let idle = online.map { now - $0.exchanges[purpose].lastHeard } ?? .zero
    online?.exchanges[purpose].checkedForInput(hasHeard: hasHeard, now: now)
    guard purpose == .writer, hasHeard, keepAlive.answered(afterIdle: idle, now: now) else { return }
    for purpose in ConnectionPurpose.allCases { online?.exchanges[purpose].keepAlive = keepAlive.interval }
  }

  mutating func announced(_ payload: Data, on channel: String, now: Instant) {
    guard let ids = listeners[Name(channel)] else {
      // A message published on that channel is not an invalidation.
      if channel == "\(KeyNames.invalidationChannel)" { emit(.malformedMessage(channel: channel)) }
      return
    }
    guard let message = ChangeMessage(payload: payload) else {
      emit(.malformedMessage(channel: channel))
      return
    }
    guard secrets.prove(payload, on: channel) else {
      // It shows nothing, but may come from a server with another secret.
      emit(.unprovenMessage(channel: channel, isNews: online?.secretReads.doubt() ?? false))
      for id in ids { planRead(of: id, now: now) }
      return wake()
    }
    let (vitals, clock) = (announcedVitals, online?.vitals.serverClock(at: now))
    for id in ids {
      if members[id]?.isNews(message) ?? false {
        explained(id, by: message, now: now)
        if measurements.isWanted, !message.meta.isMade(by: configuration.writer) {
          members[id]?.note(announced: message.revision)
        }
      }
      apply(members[id]?.replica.announced(message, vitals: vitals, clock: clock), to: id)
      endHold(of: id)
    }
  }

  mutating func answered(
    _ request: Request,
    _ reply: RedisReply,
    epoch: UInt64,
    now: Instant
  ) {
    if case .commit(let id, _, let bytes, _) = request {
      online?.commits.end(id, bytes: bytes)
      acquit(id, .commit)
      if !breaks.isEmpty {
        breaks.forget(id, .commit)
        if online?.hasServed ?? false { served(epoch: epoch) }
      }
    }
    switch request {
    case .read(_, let bytes, _), .readOnce(_, let bytes): online?.reads.end(bytes: bytes)
    case .summarize: online?.reads.endSummary()
    case .subscribe: online?.subscriptions.answered()
    default: break
    }
    switch (request, reply) {
    case (.hearing(let heard), .pong):
      online?.vitals.heard(heard)
    case (.hearing(let heard), .failure(let error)) where !error.concernsConnection:
      online?.vitals.heard(heard)
    case (.ping, .pong), (.role, .pong), (.subscribeInvalidations, .subscribed), (.unsubscribe, .unsubscribed):
      break
    case (.compare(let id, let bytes), .document(let content)):
      compared(id, with: content, bytes: bytes, now: now)
    case (.compare(let id, _), .failure(let error)) where !error.concernsConnection:
      online?.checks.isComparisonRefused = true
      compared(id, with: nil, bytes: 0, now: now)
    case (.base(let id, let version), .document(let content)):
      received(content, of: version, for: id)
    case (.base(let id, let version), .failure(let error)) where !error.concernsConnection:
      received(nil, of: version, for: id)
    case (.vitals(let ids), .vitals(let vitals)):
      received(vitals, for: ids, epoch: epoch, now: now)
    case (.vitals(let ids), .failure(let error)) where !error.concernsConnection:
      received(nil, for: ids, epoch: epoch, now: now)
    case (.ping, .failure(let error)) where !error.concernsConnection,
      (.unsubscribe, .failure(let error)) where !error.concernsConnection:
      // Any answer proves that the server is there, and messages on a channel that is not used any more are ignored.
      break
    case (.secret, .secret(let stored)):
      online?.secretReads.answered(isMissing: stored == nil, now: now)
      if let stored {
        secrets.learn(stored)
        compareSnapshots(with: stored)
      }
    case (.secret, .failure(let error)) where !error.concernsConnection:
      // Every message is a hint then.
      online?.secretReads.answered(now: now)
    case (.track, .tracking):
      if online?.tracking.accept() ?? false { wake() }
    case (.role, .failure(let error)) where !error.concernsConnection:
      online?.asksForRole = false
    case (.track, .failure(let error)), (.subscribeInvalidations, .failure(let error)):
      trackingRefused(error)
    case (.subscribe(let names), .subscribed):
      for channel in names {
        guard let ids = listeners[Name(channel)] else { continue }
        online?.subscriptions.confirm(Name(channel))
        for id in ids {
          succeeded(id, .subscription)
          apply(members[id]?.replica.subscribed(), to: id)
        }
      }
    case (.subscribe(let names), .failure(let error)) where !error.concernsConnection:
      split(channels: names, error, now: now)
    case (.summarize(let reads, let isCheck, let vitals), .summaries(let summaries))
    where reads.count == summaries.count:
      summarized(reads, summaries, isCheck: isCheck, vitals, now: now)
      served(epoch: epoch)
    case (.trackAgain(let ids, let expected), .existing(let existing)):
      // One has expired, or was deleted, before it was tracked again.
      if existing < expected { for id in ids { check(id, .summary, now: now) } }
    case (.trackAgain, .failure(let error)) where !error.concernsConnection:
      // Comparison finds what it would have reported.
      break
    case (.summarize(let reads, let isCheck, _), .failure(let error)) where !error.concernsConnection:
      if isCheck { online?.checks.end(bytes: 0, now: now) }
      split(reads.map(\.id), error, now: now)
    case (.read(let reads, _, let vitals), .values(let values)) where reads.count == values.count:
      arrived(values, of: reads, vitals, now: now)
      served(epoch: epoch)
    case (.read(let reads, _, _), .failure(let error)) where !error.concernsConnection:
      refused(documentsOf: reads.map(\.id), error, now: now)
    case (.summarizeOnce(let read), .summaries(let summaries)) where summaries.count == 1:
      summarized(read, summaries[0])
    case (.readOnce(let waiter, _), .values(let values)) where values.count == 1:
      answer(waiter, values[0])
    case (.summarizeOnce(let read), .failure(let error)):
      resume([read.waiter], error)
    case (.readOnce(let waiter, _), .failure(let error)):
      resume([waiter], error)
    case (.commit(let id, let operation, _, let sentAt), .commit(let reply)):
      switch reply {
      case .committed:
        measurements.committed(after: now - sentAt)
        snapshots.changed()
      case .conflict: measurements.conflicted()
      case .held, .wrongType: break
      }
      members[id]?.turns.answered(reply, after: now - sentAt, now: now)
      committed(id, reply, operation, now: now)
    case (.commit(let id, let operation, _, _), .failure(let error)):
      members[id]?.online?.reading.turnedDown()
      members[id]?.turns.interrupted()
      apply(members[id]?.replica.commitRefused(error, operation: operation), to: id, now: now)
      turnedDown(id, now: now)
    case (.replicas(let replicas), .replicas(let shortage)):
      answered(replicas, shortage, now: now)
    case (.replicas(let replicas), .failure(let error)) where !error.concernsConnection:
      answered(replicas, error.isTransient ? .unknown : .refused("\(error)"), now: now)
    case (_, .failure(let error)):
      // Without subscriptions and reads, nothing shows what is stale. Start again later.
      failed(epoch: epoch, error: error, now: now)
    default:
      failed(epoch: epoch, error: .protocolViolation(reason: "the reply does not match the request"), now: now)
    }
  }

  mutating func read(
    _ value: StoredValue,
    of id: ReplicaID,
    _ number: UInt64,
    _ vitals: Vitals,
    now: Instant
  ) {
    breaks.forget(id, .read)
    members[id]?.isReadAlone = false
    if members[id]?.isFutile(value) ?? false, online?.tracking.foundNothing(among: detecting, now: now) ?? false {
      emit(.trackingFutile, once: .trackingFutile)
    }
    guard let (actions, isUpdateOutdated) = members[id]?.stored(value, read: number, vitals) else { return }
    var error: RedisSharedStateError?
    // A read that is out of date is repeated.
    let isReadAgain = actions.contains(.read)
    if isReadAgain {
      error = conflicted(id, with: value, .read, now: now)
    } else {
      succeeded(id, .read)
      if isUpdateOutdated { error = conflicted(id, with: value, now: now) }
    }
    apply(actions, to: id)
    reportEdit(of: id, now: now)
    endHold(of: id)
    if let error { apply(members[id]?.replica.refused(error, isUnread: isReadAgain), to: id) }
    // A commit that was given up is never answered.
    guard !breaks.isEmpty, members[id]?.replica.hasNothingToCommit ?? false else { return }
    breaks.forget(id, .commit)
    acquit(id, .commit)
  }

  private mutating func committed(
    _ id: ReplicaID,
    _ reply: CommitReply,
    _ operation: Operation,
    now: Instant
  ) {
    let vitals = latestVitals
    if case .committed = reply, members[id]?.writesTracked(operation) ?? false { online?.tracking.wrote(now: now) }
    guard let (actions, repair) = members[id]?.committed(reply, operation, vitals) else { return }
    var error: RedisSharedStateError?
    switch reply {
    case .committed:
      committedUntracked(id, now: now)
      switch repair {
      case .edit: error = conflicted(id, with: nil, now: now)
      case .loss:
        // A write that the program has requested may still be turned down.
        if !(members[id]?.replica.isWanted ?? false) { succeeded(id, .commit) }
        repaired(id, now: now)
      case nil: succeeded(id, .commit)
      }
    case .conflict(let stored, _):
      members[id]?.online?.reading.turnedDown()
      error = conflicted(id, with: stored, now: now)
    case .held(let milliseconds):
      members[id]?.online?.reading.turnedDown()
      held(id, for: .milliseconds(Int64(clamping: milliseconds)), now: now)
    case .wrongType(let type):
      members[id]?.online?.reading.turnedDown()
      error = conflicted(id, with: StoredValue(meta: nil, content: .otherType(type)), now: now)
    }
    apply(actions, to: id)
    // The holder's message may have arrived in front of this answer.
    if case .held = reply { endHold(of: id) }
    if let error { apply(members[id]?.replica.refused(error, isUnread: false), to: id) }
  }
}

extension LinkState.Member {
  /// Why a value was repaired. A repair may have to be made again.
  fileprivate enum Cause {
    /// A client has edited it.
    case edit
    /// The server has lost data.
    case loss
  }

  /// Whether the commit under way is this one, and writes a key that is tracked. A commit that was sent before may have
  /// taken effect already.
  fileprivate func writesTracked(_ operation: Operation) -> Bool {
    guard let commit = replica.inFlight, commit.operation == operation, replica.policy.detectsForeignEdits else {
      return false
    }
    return !commit.isInterrupted && !commit.isRepair && commit.content != .absent
  }

  /// The actions for a reply to a commit, and the cause of the repair if the commit was one that took effect.
  fileprivate mutating func committed(
    _ reply: CommitReply,
    _ operation: Operation,
    _ vitals: Vitals
  ) -> ([Replica.Action], Cause?) {
    let repair = replica.inFlight?.operation == operation ? replica.repairUnderWay : nil
    let actions = replica.committed(reply, operation: operation, vitals: vitals)
    guard case .committed = reply, let repair else { return (actions, nil) }
    guard repair.kind == .adopt else { return (actions, .loss) }
    defer { online?.repairs.adoptedOver = repair.stored.revision }
    return (actions, online?.repairs.adoptedOver == repair.stored.revision ? .loss : .edit)
  }

  /// Whether a message is about a version that is newer than the known one.
  fileprivate func isNews(_ message: ChangeMessage) -> Bool { message.revision > replica.confirmed.revision }

  /// Whether an invalidation has led to this value, which is known already.
  fileprivate mutating func isFutile(_ value: StoredValue) -> Bool {
    online?.reading.end() ?? false && value.content == replica.confirmed.content
      && value.meta == replica.confirmed.expectedMeta
  }

  /// The actions for a stored value, and whether it makes updates run again.
  fileprivate mutating func stored(
    _ value: StoredValue,
    read number: UInt64,
    _ vitals: Vitals
  ) -> ([Replica.Action], Bool) {
    let wasVerifying = replica.pending.verification.map { $0.read <= number && !$0.updates.isEmpty } ?? false
    let actions = replica.stored(value, read: number, vitals: vitals)
    return (actions, wasVerifying && replica.pending.isUpdateOutdated)
  }
}
