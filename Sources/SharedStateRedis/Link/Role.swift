/// The work for both connections of a link, as a pure value.
///
/// The link's thread asks for the next step, takes that step without the lock, and passes on what has happened when it
/// asks again. It does not wait for effects, which other threads may perform: see ``EffectQueues``.
struct Role<Connection> {
  typealias Connections = PerConnection<Connection>
  typealias Requests = PerConnection<[RedisRequest]>

  /// What the thread does without the lock.
  enum Step {
    /// Perform these effects, in order, or have them performed.
    case perform([LinkState.Effect])
    /// Wait, unless woken.
    case wait(until: Instant)
    /// Open both connections, to one server, or go on with that. Ask again at this time at the latest, and at a
    /// wake-up.
    case connect(epoch: UInt64, until: Instant)
    /// Send, then wait for something to arrive, unless woken.
    case exchange(Connections, Requests, until: Instant)
    case close(Connections)
    /// End. The role is not needed.
    case end
  }

  /// What has happened in a step.
  enum Event {
    /// The thread has waited, or closed the connections, or has just begun.
    case nothing
    /// The effects were performed, with these outcomes, or are performed by other threads.
    case performed([LinkState.Effect.Outcome])
    case opened(Connections, PerConnection<ServerFacts>)
    /// The connections could not be opened, or one of them broke.
    case failed(RedisSharedStateError)
    /// The thread has waited, and this has arrived meanwhile.
    case arrived(PerConnection<Arrivals>)
  }

  private var connections: Connections?
  /// The epoch of the connections, or of the attempt to open them.
  private(set) var epoch: UInt64 = 0
  /// Requests to be sent. Bounded by the limit to requests without a reply.
  private(set) var requests = Requests { _ in [] }
  /// Until when to wait for an answer after sending; set while the effects that come before sending are performed.
  private var waitUntil: Instant?
  /// Whether effects were handed out that are not reported yet.
  private var isPerforming = false

  /// Passes the result of the last step to the link, and returns the next step. Effects come first: waiters are resumed
  /// before anything else is done, and showing a value may lead to more effects.
  mutating func next(after event: Event, in link: inout LinkState, now: Instant) -> Step {
    note(event, in: &link, now: now)
    while true {
      link.takeMeasurements()
      if isPerforming || link.hasEffects { return perform(link.takeEffects()) }
      if let until = waitUntil.take(), let connections { return .exchange(connections, takeRequests(), until: until) }
      let instruction = link.instruction(now: now)
      if let connections, instruction != .serve(epoch: epoch) {
        self.connections = nil
        _ = takeRequests()
        return .close(connections)
      }
      // To connect is worth more: what is connected is encoded anyway.
      if case .connect = instruction {} else { link.takeTrials() }
      switch instruction {
      case .serve:
        let encodings = drawUpRequests(for: &link, now: now)
        if !encodings.isEmpty { return perform(encodings + link.takeEffects()) }
      case _ where link.hasEffects: continue
      case .wait(let until): return .wait(until: until)
      case .connect(let epoch):
        self.epoch = epoch
        return .connect(epoch: epoch, until: link.sleepUntilDeadline(atMost: .never))
      case .exit: return .end
      }
    }
  }

  /// Passes the result of the last step to the link.
  mutating func note(_ event: Event, in link: inout LinkState, now: Instant) {
    switch event {
    case .nothing: break
    case .performed(let outcomes):
      isPerforming = false
      for outcome in outcomes { note(outcome, in: &link, now: now) }
    case .opened(let connections, let facts):
      self.connections = connections
      // The thread is awake.
      _ = link.sleep.end()
      link.connected(facts, epoch: epoch, now: now)
    case .failed(let error): link.failed(epoch: epoch, error: error, now: now)
    case .arrived(let arrivals):
      // The end of one connection ends the other one, too, so what has arrived there comes first.
      for purpose in [ConnectionPurpose.subscriber, .writer] {
        let arrived = arrivals[purpose]
        link.arrived(arrived.events, hasHeard: arrived.hasHeard, on: purpose, epoch: epoch, now: now)
      }
      // The writer's error says more: it may answer a request.
      if let error = arrivals[.writer].failure ?? arrivals[.subscriber].failure {
        link.failed(epoch: epoch, error: error, now: now)
      }
    }
  }

  private mutating func takeRequests() -> Requests {
    defer { requests = Requests { _ in [] } }
    return requests
  }

  /// Takes the requests that a caller sends on the writer's connection; `nil`: there are none, or it is about to be
  /// closed.
  mutating func takeRequests(in link: inout LinkState, now: Instant) -> (Connection, [RedisRequest])? {
    guard let connections, !requests[.writer].isEmpty, link.session.phase == .connected, link.session.epoch == epoch
    else { return nil }
    defer { requests[.writer] = [] }
    return (connections[.writer], requests[.writer] + link.callerSends(now: now))
  }

  /// Passes the outcome of an effect to the link, whichever thread has performed it.
  mutating func note(_ outcome: LinkState.Effect.Outcome, in link: inout LinkState, now: Instant) {
    switch outcome {
    case .shown(let id, let toShow, let outcome): link.endedShowing(toShow, of: id, outcome: outcome)
    case .locked(let id): link.locked(id)
    case .keptBack(let id, let sequence): link.keptBack(id, sequence: sequence)
    case .published:
      link.measurements.published()
      // The thread may have ended.
      link.takeMeasurements()
    case .wroteSnapshot(let isWritten): link.wroteSnapshot(isWritten)
    case .encoded(let id, let encoded, let isQuick):
      // The request is registered with the connection that is open now.
      if let request = link.encoded(id, encoded, isQuick: isQuick, now: now) { requests[.writer].append(request) }
    }
  }

  private mutating func perform(_ effects: [LinkState.Effect]) -> Step {
    isPerforming = true
    return .perform(effects)
  }

  /// Draws up what is to be sent, and returns the effects that come before that.
  private mutating func drawUpRequests(for link: inout LinkState, now: Instant) -> [LinkState.Effect] {
    var (encodings, until): ([LinkState.Effect], Instant) = ([], .never)
    for purpose in [ConnectionPurpose.subscriber, .writer] {
      guard let work = link.work(for: purpose, epoch: epoch, now: now) else { return [] }
      requests[purpose] += work.requests
      encodings += work.encodings.map { id, encoding in link.effect(of: encoding, for: id) }
      until = min(until, work.waitUntil)
    }
    // From now on a change has to wake the thread, even while it encodes and sends.
    if until > now { link.sleep.begin(until: until) }
    waitUntil = until
    return encodings
  }
}

extension Role: Sendable where Connection: Sendable {}
extension Role.Step: Sendable where Connection: Sendable {}
extension Role.Event: Sendable where Connection: Sendable {}
