import Foundation

/// What arrives: replies and messages.
extension LinkState {
  /// Replies and messages arrived on a connection, or nothing did.
  ///
  /// - Parameter hasHeard: Whether a part of something arrived, at least.
  package mutating func arrived(
    _ events: [RedisEvent],
    hasHeard: Bool = false,
    on purpose: ConnectionPurpose,
    epoch: UInt64,
    now: ContinuousClock.Instant
  ) {
    waiting[purpose] = nil
    guard epoch == session.epoch, exchanges[purpose] != nil else { return }
    exchanges[purpose]?.looked(hasHeard: hasHeard || !events.isEmpty, now: now)
    for event in events {
      guard epoch == session.epoch else { return }
      switch event {
      case .message(let channel, let payload):
        announced(payload, on: channel)
      case .invalidated(let keys):
        invalidated(keys, now: now)
      case .reply(let id, let reply):
        guard let request = exchanges[purpose]?.answered(id) else { continue }
        answered(request, reply, epoch: epoch, now: now)
      }
    }
  }

  mutating func announced(_ payload: Data, on channel: String) {
    guard let ids = channels[channel] else { return }
    guard let message = ChangeMessage(payload: payload) else {
      effects.append(.malformedMessage(channel: channel))
      return
    }
    for id in ids { apply(members[id]?.replica.announced(message), to: id) }
  }

  mutating func answered(
    _ request: Request,
    _ reply: RedisReply,
    epoch: UInt64,
    now: ContinuousClock.Instant
  ) {
    if case .commit(_, _, let bytes) = request {
      commitsUnderWay -= 1
      commitBytesUnderWay -= bytes
    }
    switch (request, reply) {
    case (.ping, .pong), (.role, .pong), (.subscribeInvalidations, .subscribed), (.unsubscribe, .unsubscribed):
      break
    case (.track, .tracking):
      guard tracking == .requested else { return }
      tracking = .on
      wake(.subscriber)
    case (.role, .failure(let error)) where error.isPermanent:
      asksForRole = false
    case (.track, .failure(let error)), (.subscribeInvalidations, .failure(let error)):
      trackingRefused(error)
    case (.subscribe(let names), .subscribed):
      for channel in names {
        guard let ids = channels[channel] else { continue }
        subscribedChannels.insert(channel)
        for id in ids { apply(members[id]?.replica.subscribed(), to: id) }
      }
    case (.read(let reads, let isCheck), .values(let values)) where reads.count == values.count:
      session.succeeded(epoch: epoch)
      if isCheck { checked(bytes: values.reduce(0) { $0 + $1.content.size }, now: now) }
      for (read, value) in zip(reads, values) {
        apply(members[read.id]?.replica.stored(value, read: read.number), to: read.id)
      }
    case (.compare(let ids), .documents(let documents)) where ids.count == documents.count:
      compared(ids, with: documents, now: now)
    case (.readOnce(let waiter), .values(let values)) where values.count == 1:
      guard waiters.removeValue(forKey: waiter) != nil else { return }
      effects.append(.answer(waiter, values[0]))
      restIfUnused()
    case (.readOnce(let waiter), .failure(let error)):
      guard waiters.removeValue(forKey: waiter) != nil else { return }
      effects.append(.resume([waiter], error))
    case (.commit(let id, let operation, _), .commit(let reply)):
      if case .committed = reply {} else { members[id]?.isCommittedSince = false }
      apply(members[id]?.replica.committed(reply, operation: operation), to: id)
    case (.commit(let id, let operation, _), .failure(let error)) where error != .notPrimary:
      let retryAt = now + Self.pauseAfterRefusal
      members[id]?.isCommittedSince = false
      apply(members[id]?.replica.commitRefused(error, operation: operation), to: id, retryAt: retryAt)
    case (_, .failure(let error)):
      // Without listening and reading there is no telling what is stale: start again, later.
      failed(epoch: epoch, error: error, now: now)
    default:
      failed(epoch: epoch, error: .protocolViolation(reason: "an answer of another kind than was asked for"), now: now)
    }
  }
}
