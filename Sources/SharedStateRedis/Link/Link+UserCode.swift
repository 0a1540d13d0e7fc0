import SharedState
import SharedStateDependencies
import Synchronization

/// What remains to be done after the lock was released.
struct RemainingEffects: Sendable {
  /// Effects that call no user code.
  var immediate: [LinkState.Effect] = []
  /// The owners whose other effects wait for these, in the order of these effects.
  var owners: [LinkState.Effect.Owner] = []
  /// The number by which the queues know the thread that performs these; `nil`: none waits for them.
  var holder: UInt64?
  /// Whether a thread has to be asked to perform the others.
  var needsThread = false
  var wakesThread = false
  /// Effects that are not to be performed any more. They are released without the lock.
  var dropped: [LinkState.Effect] = []
  /// The encoding of a commit that the caller sends itself.
  var direct: LinkState.Effect?
  /// Whether the link lacks a thread, and the watch has to try again to start it.
  var needsWatch = false
}

/// The effects of a link, which threads of the store perform one by one.
private struct Effects: UserCode {
  let link: Link

  var name: String { "user code of \(link.telemetry.label)" }
  var notifiesObservers: Bool { false }

  func run() -> Bool { link.performNext() }

  func isSlow() { link.noteSlow() }

  func isBlocked() {}
}

/// Performs effects: those that call user code on other threads, one at a time for each owner.
extension Link {
  /// Performs what remains after a decision.
  ///
  /// - Parameter servesItself: Whether this thread runs user code where no other thread can be started.
  func perform(_ remaining: RemainingEffects, servesItself: Bool = true) {
    // The thread must not wait for anything if it has something to send.
    if remaining.wakesThread { waker.wake() }
    let servesItself = servesItself && CoderStack.hasRoom
    if remaining.needsThread { userCode.append(Effects(link: self)) }
    var outcomes = remaining.immediate.compactMap { perform($0, servesItself) }
    if !remaining.owners.isEmpty { outcomes += endImmediate(remaining.owners, servesItself) }
    if !outcomes.isEmpty { report(outcomes, servesItself: servesItself) }
    if remaining.needsWatch { ThreadWatch.shared.add(self) }
    if let encoding = remaining.direct, let outcome = perform(encoding, servesItself) { report([outcome]) }
    // Last, because it may be slow.
    if servesItself { userCode.serveWhereNoThreadDoes() }
  }

  /// Performs what was queued meanwhile behind immediate effects, as far as it calls no user code: there may be no other
  /// thread to do that.
  private func endImmediate(_ owners: [LinkState.Effect.Owner], _ servesItself: Bool) -> [LinkState.Effect.Outcome] {
    var (owners, outcomes) = (owners, [LinkState.Effect.Outcome]())
    while !owners.isEmpty {
      let (effects, needsThread) = queues.withLock { ($0.endImmediate(&owners, now: .now), $0.expectThread()) }
      if needsThread { userCode.append(Effects(link: self)) }
      outcomes += effects.compactMap { perform($0, servesItself) }
    }
    return outcomes
  }

  /// Performs the next effect that calls user code. May be called by several threads.
  ///
  /// - Returns: Whether there is more to do.
  fileprivate func performNext() -> Bool {
    guard let next = queues.withLock({ $0.next(now: .now) }) else { return false }
    if next.needsThread { userCode.append(Effects(link: self)) }
    if !next.outcomes.isEmpty { report(next.outcomes) }
    let outcome = perform(next.effect, true)
    let (outcomes, hasMore) = queues.withLock { ($0.end(next.owner, outcome, now: .now), $0.expectThread()) }
    if !outcomes.isEmpty { report(outcomes) }
    return hasMore
  }

  /// Reports the outcomes of effects, and sends what was encoded: on this thread while the link's thread sleeps.
  private func report(_ outcomes: [LinkState.Effect.Outcome], servesItself: Bool = true) {
    let isBorrowed = outcomes.contains(where: \.isEncoded) && loan.borrow()
    var remaining = RemainingEffects()
    let sending = guarded.withLock { guarded -> (OpenConnection, [RedisRequest])? in
      for outcome in outcomes { guarded.role.note(outcome, in: &guarded.state, now: .now) }
      // What is sent may have effects, too.
      defer { takeEffects(of: &guarded, into: &remaining) }
      guard !guarded.role.requests[.writer].isEmpty else { return nil }
      if isBorrowed { return guarded.role.takeRequests(in: &guarded.state, now: .now) }
      // The link's thread sends them.
      remaining.wakesThread = true
      return nil
    }
    if let (open, requests) = sending { write(requests, to: open, &remaining) }
    if isBorrowed { loan.release() }
    perform(remaining, servesItself: servesItself)
  }

  /// Writes requests to the borrowed connection without blocking.
  private func write(_ requests: [RedisRequest], to open: OpenConnection, _ remaining: inout RemainingEffects) {
    do throws(RedisSharedStateError) {
      try open.connection.send(requests)
      // The thread waits for something to read, and for nothing else.
      if case .socket(_, .readable) = open.connection.interest { return }
      remaining.wakesThread = true
    } catch {
      guarded.withLock { guarded in
        guarded.role.note(.failed(error), in: &guarded.state, now: .now)
        takeEffects(of: &guarded, into: &remaining)
      }
    }
  }

  /// User code keeps a thread for long.
  fileprivate func noteSlow() {
    let since = Instant.now.advanced(by: .zero - ThreadWatch.tick * 2)
    let (owners, outcomes) = queues.withLock { ($0.takeSlow(since: since), $0.takeOutcomes()) }
    if !outcomes.isEmpty { report(outcomes, servesItself: false) }
    for owner in owners {
      if case .value(let id) = owner { update(servesItself: false) { $0.state.keptBack(id) } }
    }
  }

  /// The system refuses threads for user code. Once that lasts, the `loadError` of every value says so.
  func noteShortage(_ shortage: UserCodeThreads.Shortage) {
    switch shortage {
    case .began(let refusal): telemetry.threadRefused("user-code", refusal)
    case .lasts(let refusal): noteHeldUp(by: .outOfThreads(reason: refusal.reason))
    case .ended: noteHeldUp(by: nil)
    }
  }

  private func noteHeldUp(by error: RedisSharedStateError?) {
    var remaining = RemainingEffects()
    guarded.withLock { guarded in
      guarded.state.heldUp(by: error)
      for effect in guarded.state.takeEffects() {
        // It must not wait for blocked code.
        if case .status(let id, _, _, _) = effect, queues.withLock({ $0.isBusy(.value(id)) }) {
          remaining.immediate.append(effect)
        } else {
          guarded.state.emit(effect)
        }
      }
      takeEffects(of: &guarded, into: &remaining)
    }
    perform(remaining, servesItself: false)
  }

  /// Performs an effect, which may take arbitrarily long if it calls user code.
  ///
  /// - Parameter servesItself: As for ``perform(_:servesItself:)``.
  private func perform(_ effect: LinkState.Effect, _ servesItself: Bool) -> LinkState.Effect.Outcome? {
    switch effect {
    case .show(let id, let toShow, let reference):
      let outcome = reference.attachment?.show(toShow) { [weak self] outcome in
        self?.update(servesItself: servesItself) { $0.state.endedShowing(toShow, of: id, outcome: outcome) }
      }
      return outcome.map { .shown(id, toShow, $0) } ?? .keptBack(id, sequence: toShow.sequence)
    case .encode(let id, let encoding, let updates, let reference):
      guard let attachment = reference?.attachment else {
        return .encoded(id, Replica.Encoded(stamp: 0, result: .failure(.stopped)))
      }
      let began = Instant.now
      let encoded = attachment.encode(encoding, updates: updates) { [weak self] in
        self?.update(servesItself: servesItself) { $0.state.unlocked(id) }
      }
      return encoded.map { .encoded(id, $0, isQuick: .now - began < quickEncoding) } ?? .locked(id)
    case .status(_, let change, let reference, let number): reference.attachment?.show(change, number: number)
    case .settled: break
    case .resume(_, let error, _, let waiters):
      for waiter in waiters { waiter.callback(error.map(Result.failure) ?? .success(nil)) }
    case .resumeKeptBack(let ids, _):
      for waiter in guarded.withLock({ $0.state.takeKeptBack(ids) }) {
        waiter.callback(waiter.outcome.map { $0.map { nil } } ?? .success(nil))
      }
    case .answer(_, let result, let callback): callback(result)
    case .wake: waker.wake()
    case .statusChanged(let session, let isLive, let number): onStatusChange(session, isLive, number)
    case .sessionChanged(let session, let isLive, let number):
      onStatusChange(session, isLive, number)
      telemetry.sessionChanged(session)
    case .incident(let name, let incident): telemetry.happened(incident, to: name)
    case .tooFewReplicas(let error): telemetry.tooFewReplicas(error)
    case .losesAgain(let name): telemetry.losesAgain(name)
    case .closesIdleConnections(let interval): telemetry.closesIdleConnections(askedAfter: interval)
    case .trackingRefused(let error): telemetry.trackingRefused(error)
    case .trackingFutile: telemetry.trackingFutile()
    case .trackingSilent: telemetry.trackingSilent()
    case .vitalsRefused: telemetry.vitalsRefused()
    case .certificate(let certificate, let notice): telemetry.noticed(notice, of: certificate)
    case .blocked(let code, let name, let place): telemetry.isBlocked(by: code, of: name, sharedAt: place)
    case .decided(let name, let decision): telemetry.decided(decision, about: name)
    case .measured(let batch):
      telemetry.metrics.publish(batch)
      return .published
    case .saveSnapshot(let whenDone):
      defer { whenDone() }
      return .wroteSnapshot(saveSnapshot())
    case .malformedMessage(let channel): telemetry.ignoredMessage(on: channel)
    case .unprovenMessage(let channel, let isNews): telemetry.unprovenMessage(on: channel, isNews: isNews)
    }
    return nil
  }
}

extension Link {
  /// Takes the effects of a decision. Those that call user code are queued.
  ///
  /// - Parameter showsPlainValues: Whether this thread shows plain values itself.
  func takeEffects(of guarded: inout Guarded, into remaining: inout RemainingEffects, showsPlainValues: Bool = false) {
    guard guarded.state.hasEffects else { return }
    let needsThread = queues.withLock { queues -> Bool in
      while guarded.state.hasEffects {
        for effect in guarded.state.takeEffects() {
          queues.place(effect, &guarded.state, &remaining, showsPlainValues: showsPlainValues)
        }
      }
      return queues.expectThread()
    }
    if needsThread { remaining.needsThread = true }
  }
}

extension EffectQueues {
  mutating func place(
    _ effect: LinkState.Effect,
    _ link: inout LinkState,
    _ remaining: inout RemainingEffects,
    showsPlainValues: Bool = false
  ) {
    switch effect.place {
    case .anywhere:
      if case .wake = effect { remaining.wakesThread = true } else { remaining.immediate.append(effect) }
    case .behind(let owner) where isFree(owner, for: remaining): remaining.immediate.append(effect)
    // Another thread would take longer to wake up.
    case .inside(let owner)
    where effect.isQuick(showsPlainValues: showsPlainValues) && isFree(owner, for: remaining):
      beginImmediate(owner, for: &remaining)
      remaining.immediate.append(effect)
    case .behind(let owner), .inside(let owner):
      var effect = effect
      switch effect {
      // The value is not shown before the slow code has ended.
      case .show(let id, _, _) where isSlow(owner): link.keptBack(id)
      // Nor may the code keep a caller beyond its deadline.
      case .resume(let ids, let error, let id?, let waiters):
        link.keepBack(ids, waiters, error)
        effect = .resumeKeptBack(ids, of: id)
      default: break
      }
      if let dropped = append(effect, of: owner, now: .now) { remaining.dropped.append(dropped) }
    }
  }
}

extension LinkState.Effect.Outcome {
  fileprivate var isEncoded: Bool { if case .encoded = self { true } else { false } }
}
