import Foundation
import SharedState
import SharedStateDependencies
import Synchronization

/// The shell around ``LinkState``: holds its lock, performs its effects, and runs its thread.
///
/// The lock guards the state machines and is held for their decisions only. Resuming waiters happens after it was
/// released; encoding, decoding, showing a value and everything else that calls user code happens on other threads.
final class Link: Sendable {
  struct Guarded {
    var state: LinkState
    var role = Role<OpenConnection>()
    /// Whether a thread has the role.
    var hasThread = false
    /// Whether the link was added to the ``ThreadWatch``, because it lacks a thread.
    var isWatched = false
    /// When to collect the metrics next.
    var measureAt = Instant.past
  }

  let guarded: Mutex<Guarded>
  /// The effects that other threads perform.
  let queues = Mutex(EffectQueues())
  /// Replicas whose share is gone. A lock of their own guards them, because a share may be released anywhere, even
  /// under `guarded`.
  private let departures = Mutex<[LinkState.ReplicaID]>([])

  let loan = Loan()
  let quickEncoding: Duration
  let connector: any RedisConnector
  let connectTimeout: Duration
  let waker: Waker
  let threads: ThreadStarter
  /// Run the code of the program that effects call, and notify observers.
  let userCode: UserCodeThreads
  /// Replaces the thread in a test's world.
  let schedule: (any Schedule)?
  let telemetry: LinkTelemetry
  let snapshotFile: SnapshotFile?
  let onStatusChange: @Sendable (_ session: Session, _ isLive: Bool, _ number: UInt64) -> Void

  /// - Parameter onStatusChange: Called from any thread, possibly late: of two calls, the one with the higher number
  ///   counts.
  init(
    connector: any RedisConnector,
    connectTimeout: Duration,
    configuration: LinkState.Configuration,
    telemetry: LinkTelemetry,
    snapshotFile: SnapshotFile? = nil,
    threads: ThreadStarter = .system,
    onStatusChange: @escaping @Sendable (_ session: Session, _ isLive: Bool, _ number: UInt64) -> Void
  ) {
    self.connector = connector
    self.connectTimeout = connectTimeout
    self.telemetry = telemetry
    self.snapshotFile = snapshotFile
    self.threads = threads
    userCode = UserCodeThreads(threads: threads)
    quickEncoding = configuration.quickEncoding
    self.onStatusChange = onStatusChange
    // A connection to another process blocks a thread, which a schedule cannot do.
    let schedule = connector.isScheduled ? Schedules.current : nil
    self.schedule = schedule
    waker = Waker(on: schedule)
    var state = LinkState(configuration: configuration, seed: Schedules.randomNumber())
    if telemetry.metrics.hasBackEnd { state.measurements.begin() }
    guarded = Mutex(Guarded(state: state))
    connector.onServerEvent { [weak self] event in
      switch event {
      // Sends nothing to the present server any more, and connects to the one that has taken over.
      case .moved: self?.update(servesItself: false) { $0.state.moved(now: .now) }
      case .unannounced(let sentinel, let error): self?.telemetry.failoversUnannounced(by: sentinel, error)
      }
    }
    userCode.onShortage { [weak self] in self?.noteShortage($0) }
    ForkedChild.prepare()
  }

  // MARK: Replicas

  /// Makes a replica for a share. It is held weakly.
  ///
  /// - Parameters:
  ///   - valueType: All shares of a name have the same; `nil`: the replica goes with any of them.
  ///   - snapshot: The state of the snapshot that the share shows; `nil`: it shows the default.
  ///   - whenJoined: Takes the replica before its first effects are performed.
  /// - Throws: ``RedisSharedStateError/Code/valueTypeMismatch``,
  ///   ``RedisSharedStateError/Code/stopped``.
  func join(
    _ names: KeyNames,
    name: String,
    valueType: String?,
    policy: ReplicaPolicy,
    snapshot: SnapshotState? = nil,
    attachment: any ReplicaAttachment,
    whenJoined: (LinkState.ReplicaID) -> Void
  ) throws(RedisSharedStateError) {
    try ForkedChild.refuse()
    let ((result, first), remaining) = decide { guarded in
      let first = guarded.state.firstAttachment(of: names)
      let result = Result { () throws(RedisSharedStateError) in
        try guarded.state.join(
          names,
          name: name,
          valueType: valueType,
          policy: policy,
          snapshot: snapshot,
          attachment: attachment
        )
      }
      return (result, first)
    }
    if case .success(let id) = result { whenJoined(id) }
    perform(remaining)
    if case .failure(let error) = result,
      case .valueTypeMismatch(let name, let existing, let requested, nil) = error.cause
    {
      throw .valueTypeMismatch(
        name: name,
        existing: existing,
        requested: requested,
        declaredAt: first?.attachment?.declaredAt
      )
    }
    _ = try result.get()
  }

  /// Notes that the share of a replica is gone. May be called from anywhere.
  func leave(_ id: LinkState.ReplicaID) {
    if ForkedChild.isCurrent { return }
    departures.withLock { $0.append(id) }
    waker.wake()
  }

  /// Notes that a share has changed since its last snapshot. Its box is held until the server has acknowledged the
  /// change.
  func changed(_ id: LinkState.ReplicaID, keeping box: AnyObject) {
    let kept = RetainedBox(box, since: .now)
    update(sending: id) { $0.state.changed(id, keeping: kept) }
  }

  /// Notes that a share was changed, up to this stamp, although the link may commit nothing.
  func discarded(_ id: LinkState.ReplicaID, stamp: UInt64) {
    update { $0.state.discarded(id, stamp: stamp) }
  }

  // MARK: Waiting

  /// Makes a waiter, under the lock. Where there cannot be one, the callback gets the error immediately.
  ///
  /// - Parameter id: The value whose commit this thread sends itself, if nothing is under way.
  func ask(
    sending id: LinkState.ReplicaID? = nil,
    _ callback: @escaping LinkState.WaiterCallback,
    _ begin: (inout LinkState, @escaping LinkState.WaiterCallback) throws(RedisSharedStateError) -> LinkState.WaiterID
  ) -> LinkState.WaiterID? {
    do throws(RedisSharedStateError) {
      try ForkedChild.refuse()
      return try update(sending: id) { guarded in
        Result { () throws(RedisSharedStateError) in try begin(&guarded.state, callback) }
      }.get()
    } catch {
      callback(.failure(error))
      return nil
    }
  }

  /// Calls back once for each change that is not acknowledged yet, no later than at the deadline.
  ///
  /// - Returns: The waiters, and whether a change was given up that no flush has reported.
  func flush(
    until deadline: Instant,
    completion: @escaping LinkState.WaiterCallback
  ) -> (waiters: [LinkState.WaiterID], hasGivenUp: Bool) {
    update { ($0.state.flush(until: deadline, callback: completion), !$0.state.givenUp.isEmpty) }
  }

  /// The notice of a finished flush about changes that were given up. From then on they count as reported.
  func takeGivenUp(with heard: Set<Name>) -> GivenUpChanges.Notice? {
    guard let notice = guarded.withLock({ $0.state.givenUp.take(with: heard) }) else { return nil }
    for share in notice.shares { share.attachment?.changesWereReported() }
    return notice
  }

  /// Notes a change of a share that has no replica.
  func noteGivenUp(_ name: String, _ error: RedisSharedStateError, _ attachment: any ReplicaAttachment) {
    update { $0.state.noteGivenUp(name, error, attachment) }
  }

  /// The program has read the save error of a share.
  func saveErrorWasRead(_ id: LinkState.ReplicaID, _ error: RedisSharedStateError) {
    if ForkedChild.isCurrent { return }
    guarded.withLock { $0.state.saveErrorWasRead(id, error) }
  }

  /// The program was notified of all changes of a share that were given up.
  func discardedWasReported(_ id: LinkState.ReplicaID) {
    if ForkedChild.isCurrent { return }
    guarded.withLock { $0.state.discardedWasReported(id) }
  }

  /// User code has blocked others for a second.
  func isBlocked(by code: BlockedCode, of name: String, sharedAt place: String?) {
    update { $0.state.emit(.blocked(code, name: name, sharedAt: place)) }
  }

  /// Stops waiting. The callback is not called any more.
  func forget(_ waiters: [LinkState.WaiterID]) {
    update { guarded in
      for waiter in waiters { guarded.state.forget(waiter) }
    }
  }

  /// Stops waiting for an atomic update. The callback is not called any more.
  ///
  /// - Returns: Whether the update may have taken effect, or still may.
  func cancelUpdate(_ waiter: LinkState.WaiterID) -> Bool {
    update { $0.state.cancelUpdate(waiter) }
  }

  // MARK: The session

  /// Connects, unless that was done before.
  func start() {
    if ForkedChild.isCurrent { return }
    update { $0.state.start() }
  }

  /// Closes both connections. Unacknowledged changes stay in the boxes and are not sent any more.
  ///
  /// - Returns: The names of the replicas with a change that was not acknowledged.
  @discardableResult
  func stop() -> [String] {
    if ForkedChild.isCurrent { return [] }
    defer { connector.close() }
    return update { guarded in
      defer { guarded.state.stop() }
      return guarded.state.pendingNames
    }
  }

  /// The names of the values with a change that the server has not acknowledged.
  var pendingNames: [String] {
    guarded.withLock { $0.state.pendingNames }
  }

  /// How many replicas have a change that the server has not acknowledged.
  var pendingChanges: Int {
    guarded.withLock { $0.state.pendingChanges }
  }

  /// The newest revision of a value that is known to be in Redis; `nil`: there is no share of it.
  func confirmedRevision(of names: KeyNames) -> Revision? {
    guarded.withLock { $0.state.confirmedRevision(of: names) }
  }

  /// Whether a share of the value shows an edit that was made beside the stored metadata.
  func showsEdit(of names: KeyNames, beside stored: StoredValue) -> Bool {
    guarded.withLock { $0.state.showsEdit(of: names, beside: stored) }
  }

  /// The certificates of the newest connections.
  var certificates: [RedisStore.Certificate] { guarded.withLock { $0.state.certificates.certificates } }

  /// What is known of each value. Other decisions come between those about a thousand values.
  var valueReports: [LinkState.ValueReport] {
    let ids = guarded.withLock { $0.state.members.ids }
    return stride(from: 0, to: ids.count, by: 1_000).flatMap { start in
      guarded.withLock { $0.state.valueReports(of: ids[start..<min(start + 1_000, ids.count)]) }
    }
  }

  /// How many atomic updates wait to be run or sent, and how many were sent and may have taken effect.
  var openUpdates: (waiting: Int, sent: Int) {
    guarded.withLock { $0.state.openUpdates }
  }

  // MARK: Decisions

  /// Lets the state machines decide, then performs their effects on this thread, without the lock.
  ///
  /// - Parameters:
  ///   - id: The value whose commit this thread sends itself, if nothing is under way.
  ///   - servesItself: As for ``perform(_:servesItself:)``.
  func update<Result: Sendable>(
    sending id: LinkState.ReplicaID? = nil,
    servesItself: Bool = true,
    _ body: (inout Guarded) -> Result
  ) -> Result {
    let (result, remaining) = decide(sending: id, body)
    perform(remaining, servesItself: servesItself)
    return result
  }

  /// Lets the state machines decide, and returns their effects, which the caller performs.
  private func decide<Result: Sendable>(
    sending id: LinkState.ReplicaID? = nil,
    _ body: (inout Guarded) -> Result
  ) -> (Result, RemainingEffects) {
    let departed = takeDepartures()
    let sender = id.flatMap { loan.isOffered && CoderStack.hasRoom ? $0 : nil }
    return guarded.withLock { guarded -> (Result, RemainingEffects) in
      beginDecision(&guarded, departed, sender)
      let result = body(&guarded)
      return (result, endDecision(&guarded, sender))
    }
  }

  // Functions of their own, because the compiler generates the code of `decide` for each type of result.
  private func beginDecision(
    _ guarded: inout Guarded,
    _ departed: [LinkState.ReplicaID],
    _ sender: LinkState.ReplicaID?
  ) {
    for id in departed { guarded.state.leave(id) }
    if let sender, !queues.withLock({ $0.isBusy(.value(sender)) }) { guarded.state.beginCall(of: sender) }
  }

  private func endDecision(_ guarded: inout Guarded, _ sender: LinkState.ReplicaID?) -> RemainingEffects {
    var remaining = RemainingEffects()
    if let sender { remaining.direct = guarded.state.endCall(of: sender) }
    startThread(&guarded)
    takeEffects(of: &guarded, into: &remaining)
    remaining.needsWatch = guarded.lacksThread && !guarded.isWatched && schedule == nil
    if remaining.needsWatch { guarded.isWatched = true }
    return remaining
  }

  func takeDepartures() -> [LinkState.ReplicaID] {
    departures.withLock { departures in
      defer { departures = [] }
      return departures
    }
  }
}
