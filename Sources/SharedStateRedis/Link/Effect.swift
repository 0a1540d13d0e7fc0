import SharedState

extension LinkState {
  /// A decided action, with everything that it takes. The shell performs all effects in order, after it has released
  /// the lock, because they may call user code: coders, atomic updates, deinitialisers, log handlers.
  enum Effect: Sendable {
    /// Decode and show a state, then report the outcome with ``LinkState/endedShowing(_:of:outcome:)``.
    case show(ReplicaID, Replica.StateToShow, AttachmentReference)
    /// Encode a value, or run updates, then report the result with ``LinkState/encoded(_:_:isQuick:now:)`` or
    /// ``LinkState/locked(_:)``.
    case encode(ReplicaID, Replica.Encoding, [WaiterID: AtomicUpdate], AttachmentReference?)
    case status(ReplicaID, Replica.StatusChange, AttachmentReference, number: UInt64)
    /// Release the box, which has no unacknowledged change any more.
    case settled(ReplicaID, RetainedBox?)
    /// Resume waiters: after all earlier effects for the replica in `of`, or immediately if it is `nil`.
    case resume([WaiterID], RedisSharedStateError?, of: ReplicaID?, [Waiter])
    /// Resume those of these waiters that still wait, after all earlier effects for the replica.
    case resumeKeptBack([WaiterID], of: ReplicaID)
    /// Answers a read of a value that is not shared. The callbacks of keys that are built on a Redis key decode the
    /// document.
    case answer(WaiterID, Result<StoredValue?, RedisSharedStateError>, WaiterCallback)
    /// Wake the thread: it has something to do.
    case wake
    /// Log the phase of the session. One that is connected is live. The status is published before, if that has not
    /// happened yet.
    case sessionChanged(Session, isLive: Bool, number: UInt64)
    /// Publish the phase of the session, and whether it is live, unless one with a higher number was published.
    case statusChanged(Session, isLive: Bool, number: UInt64)
    case incident(name: String, Replica.Incident)
    case malformedMessage(channel: String)
    /// A message that the scripts of the namespace have not made, or have made with an unknown secret.
    ///
    /// - `isNews`: Whether it is the first one since the secret was read.
    case unprovenMessage(channel: String, isNews: Bool)
    /// The server has a change, but too few of its replicas have it.
    case tooFewReplicas(RedisSharedStateError)
    /// The server has lost a value, or its meta, many times in a row.
    case losesAgain(name: String)
    /// The server does not report which keys were written.
    case trackingRefused(RedisSharedStateError)
    /// The server reports so many writes that did not happen that its reports are ignored.
    case trackingFutile
    /// The server has accepted to report writes, but did not report a write of this service.
    case trackingSilent
    /// The server, or a proxy in front of it, closes idle connections, so PINGs are sent more often from now on.
    case closesIdleConnections(askedAfter: Duration)
    /// The server does not reveal whether it has evicted keys.
    case vitalsRefused
    /// A certificate expires soon, or has expired.
    case certificate(RedisStore.Certificate, RedisStore.Certificate.Notice)
    /// User code has blocked others for a second.
    case blocked(BlockedCode, name: String, sharedAt: String?)
    /// Log what was decided about a value.
    case decided(name: String, Replica.Action.Summary)
    /// Write the snapshot, then report that with ``SnapshotSchedule/written(_:)``.
    case saveSnapshot(whenDone: @Sendable () -> Void = {})
    /// Publish counters, gauges and timers, then report that with ``Measurements/published()``.
    case measured(Measurements.Batch)
  }
}

extension LinkState.Effect {
  /// The result of an effect that the link has to know.
  enum Outcome: Sendable {
    case shown(LinkState.ReplicaID, Replica.StateToShow, Replica.ShowOutcome)
    case encoded(LinkState.ReplicaID, Replica.Encoded, isQuick: Bool = false)
    /// A closure of the program holds the lock of the value that was to be encoded.
    case locked(LinkState.ReplicaID)
    /// A closure of the program holds the lock of the value that was to be shown.
    case keptBack(LinkState.ReplicaID, sequence: UInt64)
    /// A batch of measurements was published, so the next one may follow.
    case published
    /// The attempt to write the snapshot has ended.
    case wroteSnapshot(Bool)
  }

  /// The owner of the user code that effects call. Slow code blocks only the effects of its own owner.
  enum Owner: Hashable, Sendable {
    case value(LinkState.ReplicaID)
    /// A waiter for a value that is not shared.
    case waiter(LinkState.WaiterID)
    case log
    case metrics
    case snapshot
  }

  /// Where an effect has its place.
  enum Place {
    /// It calls no user code, and is performed immediately.
    case anywhere
    /// It calls no user code, but comes after all earlier effects of its owner.
    case behind(Owner)
    /// It comes between the earlier and the later effects of its owner.
    case inside(Owner)
  }

  var place: Place {
    switch self {
    case .wake, .statusChanged: .anywhere
    case .resume(_, _, let id, _): id.map { .behind(.value($0)) } ?? .anywhere
    case .resumeKeptBack(_, let id): .behind(.value(id))
    case .settled(let id, let box): box?.isLast ?? false ? .inside(.value(id)) : .anywhere
    // A status that was decided behind a value is shown behind it.
    case .show(let id, _, _), .encode(let id, _, _, _), .status(let id, _, _, _): .inside(.value(id))
    case .answer(let waiter, _, _): .inside(.waiter(waiter))
    case .measured: .inside(.metrics)
    case .saveSnapshot: .inside(.snapshot)
    case .sessionChanged, .incident, .malformedMessage, .unprovenMessage, .tooFewReplicas, .losesAgain,
      .trackingRefused, .trackingFutile, .trackingSilent, .closesIdleConnections, .vitalsRefused, .certificate,
      .blocked, .decided:
      .inside(.log)
    }
  }
}

/// The box of a change that is not acknowledged, which is only held, to be released without the lock.
struct RetainedBox: @unchecked Sendable {
  // `@unchecked Sendable` is right because the object is only retained and released.
  private var object: AnyObject
  let since: Instant
  /// Whether its release ends the box, whose value may have a deinitialiser.
  private(set) var isLast = false

  init(_ object: AnyObject, since: Instant) {
    (self.object, self.since) = (object, since)
  }

  /// The box is about to be released. Notes whether nothing else holds it.
  mutating func beginRelease() { isLast = isKnownUniquelyReferenced(&object) }
}

extension LinkState.Effect {
  /// Whether it calls no user code and takes a few microseconds: it changes a status, resumes waiters, or shows a plain
  /// value.
  func isQuick(showsPlainValues: Bool) -> Bool {
    switch self {
    case .status, .resume, .resumeKeptBack: true
    case .show(_, let toShow, let reference):
      showsPlainValues && reference.isPlain && toShow.state.content.size <= 256
    default: false
    }
  }
}
