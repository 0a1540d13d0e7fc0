/// The work for one of the two connections of a link, as a pure value: the thread of the link has both roles.
///
/// It asks a role for the next step, takes that step without the lock, and reports the result before it asks again. It
/// performs the resulting effects itself, one by one: most of them take microseconds, and handing each to another
/// thread would take longer. When an effect takes too long, the roles go to a new thread, which continues from the
/// state kept here. The old thread only finishes that effect, and others that have come up for the same owner
/// meanwhile, and then ends. This is the leader and followers pattern, combined with the way Go's scheduler retakes a
/// processor from a thread that is in a system call.
package struct Role<Connection> {
  /// What the thread does without the lock.
  package enum Step {
    /// Perform these effects, in order. A thread that has just got the role first performs those left by another one.
    case perform([LinkState.Effect])
    /// Wait, unless woken.
    case wait(until: Instant)
    case connect(epoch: UInt64)
    /// Send, then wait for something to arrive, unless woken.
    case exchange(Connection, [RedisRequest], until: Instant)
    case close(Connection)
    /// End. The thread does not have the role any more.
    case end
  }

  /// The result of a step.
  package enum Report {
    /// The thread has waited, or closed the connection, or has just got the role.
    case nothing
    /// The effects were performed; some may have been postponed.
    case performed([LinkState.Effect.Outcome])
    case opened(Connection, ServerFacts)
    /// The connection could not be opened, or broke.
    case failed(RedisSharedStateError)
    case arrived([RedisEvent], hasHeard: Bool)
  }

  private let purpose: ConnectionPurpose
  /// Whether a thread has the role.
  package private(set) var isTaken = false
  private var connection: Connection?
  /// The epoch of the connection, or of the attempt to open one.
  private(set) var epoch: UInt64 = 0
  /// Requests to be sent. Bounded by the limit to requests without a reply.
  package private(set) var requests: [RedisRequest] = []
  /// Until when to wait for an answer after sending; set while the effects that come before sending are performed.
  private var waitUntil: Instant?
  /// Whether effects were handed out that are not reported yet.
  private var isPerforming = false

  package init(_ purpose: ConnectionPurpose) {
    self.purpose = purpose
  }

  /// Gives the role to a new thread, if it is needed and no thread has it.
  ///
  /// - Returns: Whether to start that thread.
  package mutating func begin(in link: LinkState) -> Bool {
    guard !isTaken, link.session.phase != .idle, link.session.phase != .stopped else { return false }
    isTaken = true
    return true
  }

  /// The system has refused that thread. The link counts that as a failed attempt to connect, so that it is tried
  /// again.
  package mutating func refused(_ reason: String, in link: inout LinkState, now: Instant) {
    isTaken = false
    link.failed(epoch: link.session.epoch, error: .outOfThreads(reason: reason), now: now)
  }

  /// Passes the result of the last step to the link, and returns the next step. Effects come first: waiters are resumed
  /// before anything else is done, and showing a value may lead to more effects.
  package mutating func next(after report: Report, in link: inout LinkState, now: Instant) -> Step {
    note(report, in: &link, now: now)
    while true {
      link.takeMeasurements()
      if isPerforming || link.hasEffects { return perform(link.takeEffects()) }
      if let until = waitUntil.take(), let connection {
        defer { requests = [] }
        return .exchange(connection, requests, until: until)
      }
      let instruction = link.instruction(for: purpose, now: now)
      if let connection, instruction != .serve(epoch: epoch) {
        self.connection = nil
        requests = []
        return .close(connection)
      }
      switch instruction {
      case .serve(let epoch):
        let encodings = drawUpRequests(for: &link, epoch: epoch, now: now)
        if !encodings.isEmpty { return perform(encodings + link.takeEffects()) }
      case _ where link.hasEffects: continue
      case .wait(let until): return .wait(until: until)
      case .connect(let epoch):
        self.epoch = epoch
        return .connect(epoch: epoch)
      case .exit:
        // Decided under the lock, so that the next caller that needs the server starts a new thread.
        isTaken = false
        return .end
      }
    }
  }

  /// Passes the result of the last step to the link.
  package mutating func note(_ report: Report, in link: inout LinkState, now: Instant) {
    switch report {
    case .nothing: break
    case .performed(let outcomes):
      isPerforming = false
      for outcome in outcomes { note(outcome, in: &link, now: now) }
    case .opened(let connection, let facts):
      self.connection = connection
      link.connected(purpose, facts, epoch: epoch, now: now)
    case .failed(let error): link.failed(epoch: epoch, error: error, now: now)
    case .arrived(let events, let hasHeard):
      link.arrived(events, hasHeard: hasHeard, on: purpose, epoch: epoch, now: now)
    }
  }

  /// Takes the requests that a caller sends on the connection; `nil`: there are none, or it is about to be closed.
  package mutating func takeRequests(in link: inout LinkState, now: Instant) -> (Connection, [RedisRequest])? {
    guard let connection, !requests.isEmpty, link.session.phase == .connected, link.session.epoch == epoch else {
      return nil
    }
    defer { requests = [] }
    return (connection, requests + link.callerSends(now: now))
  }

  /// Passes the outcome of an effect to the link, whichever thread has performed it.
  package mutating func note(_ outcome: LinkState.Effect.Outcome, in link: inout LinkState, now: Instant) {
    switch outcome {
    case .shown(let id, let toShow, let outcome): link.endedShowing(toShow, of: id, outcome: outcome)
    case .locked(let id): link.locked(id)
    case .keptBack(let id): link.keptBack(id)
    case .published: link.measurements.published()
    case .encoded(let id, let encoded, let isQuick):
      // The request is registered with the connection that is open now.
      if let request = link.encoded(id, encoded, isQuick: isQuick, now: now) { requests.append(request) }
    }
  }

  private mutating func perform(_ effects: [LinkState.Effect]) -> Step {
    isPerforming = true
    return .perform(effects)
  }

  /// Draws up what is to be sent, and returns the effects that come before that.
  private mutating func drawUpRequests(for link: inout LinkState, epoch: UInt64, now: Instant) -> [LinkState.Effect] {
    guard connection != nil else {
      link.failed(epoch: epoch, error: .disconnected(reason: "not open"), now: now)
      return []
    }
    guard let work = link.work(for: purpose, epoch: epoch, now: now) else { return [] }
    requests += work.requests
    waitUntil = work.waitUntil
    return work.encodings.map { id, encoding in link.effect(of: encoding, for: id) }
  }
}

extension Role: Sendable where Connection: Sendable {}
extension Role.Step: Sendable where Connection: Sendable {}
extension Role.Report: Sendable where Connection: Sendable {}
