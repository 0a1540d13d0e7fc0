/// An effect that waits for a thread to perform it.
typealias Job = LinkState.Effect

/// What remains to be done after the lock was released.
struct RemainingEffects: Sendable {
  var jobs: [Job] = []
  var wakesThread = false
  /// Jobs that are not to be done any more. They are released without the lock.
  var dropped: [Job] = []
  /// The encoding of a commit that the caller sends itself.
  var direct: Job?
  /// Whether it is time to look after the metrics.
  var measures = false
}

extension Link {
  /// Performs an effect, which may take arbitrarily long.
  func perform(_ effect: LinkState.Effect) -> Job.Outcome? {
    switch effect {
    case .show(let id, let toShow, let reference):
      let outcome = reference.attachment?.show(toShow) { [weak self] outcome in
        self?.update { $0.state.endedShowing(toShow, of: id, outcome: outcome) }
      }
      return outcome.map { .shown(id, toShow, $0) } ?? .keptBack(id)
    case .encode(let id, let encoding, let updates, let reference):
      guard let attachment = reference?.attachment else {
        return .encoded(id, Replica.Encoded(stamp: 0, result: .failure(.stopped)))
      }
      let began = Instant.now
      let encoded = attachment.encode(encoding, updates: updates) { [weak self] in
        self?.update { $0.state.unlocked(id) }
      }
      return encoded.map { .encoded(id, $0, isQuick: .now - began < quickEncoding) } ?? .locked(id)
    case .status(_, let change, let reference, let number): reference.attachment?.show(change, number: number)
    case .settled: break
    case .resume(_, let error, _, let callbacks):
      for callback in callbacks { callback(error.map(Result.failure) ?? .success(nil)) }
    case .answer(_, let stored, let callback): callback(.success(stored))
    case .wake: waker.wake()
    case .statusChanged(let session, let isLive, let number): onStatusChange(session, isLive, number)
    case .sessionChanged(let session): telemetry.sessionChanged(session)
    case .incident(let name, let incident): telemetry.happened(incident, to: name)
    case .tooFewReplicas(let error): telemetry.tooFewReplicas(error)
    case .losesAgain(let name): telemetry.losesAgain(name)
    case .closesIdleConnections(let interval): telemetry.closesIdleConnections(askedAfter: interval)
    case .trackingRefused(let error): telemetry.trackingRefused(error)
    case .trackingFutile: telemetry.trackingFutile()
    case .trackingSilent: telemetry.trackingSilent()
    case .vitalsRefused: telemetry.vitalsRefused()
    case .certificate(let certificate, let notice): telemetry.noticed(notice, of: certificate)
    case .decided(let name, let decision): telemetry.decided(decision, about: name)
    case .measured(let report):
      telemetry.metrics.publish(report)
      return .published
    case .malformedMessage(let channel): telemetry.ignoredMessage(on: channel)
    case .unprovenMessage(let channel, let isNews): telemetry.unprovenMessage(on: channel, isNews: isNews)
    }
    return nil
  }
}

extension RemainingEffects {
  /// Adds effects. The thread is woken before any of the others is performed.
  mutating func add(_ effects: [LinkState.Effect]) {
    for effect in effects {
      switch effect {
      case .wake: wakesThread = true
      case .settled(_, nil): break
      default: jobs.append(effect)
      }
    }
  }
}
