import DequeModule
import Foundation
import SharedState
package import SharedStateDependencies
import Synchronization

/// The shell around ``LinkState``: holds its lock, performs its effects, and runs its thread.
///
/// The lock guards the state machines and is held for their decisions only. Encoding, decoding, showing a value, and
/// resuming waiters happen after it was released: see ``Job``.
package final class Link: Sendable {
  struct Guarded {
    var state: LinkState
    var role = Role<OpenConnection>()
    /// Whether a thread has the role.
    var hasThread = false
    /// Whether that thread is opening connections, which may take long. Others perform all effects then.
    var isConnecting = false
    /// Owners whose code kept the thread for so long that another one took over its role, or whose jobs are postponed.
    var slow: [Job.Owner: SlowOwner] = [:]
    /// The owners whose jobs are postponed, and the one that had its turn last.
    var postponed = Deque<Job.Owner>()
    var served: Job.Owner?
    /// Numbers the threads.
    var lastTurn: UInt64 = 0
    /// How many batches of jobs there were.
    var batches: UInt64 = 0
    /// What ``JobWatch`` has seen of them; `nil`: it does not watch.
    var watched: (batches: UInt64, idleTicks: Int)?
    /// Since when a job has kept the role because no other thread could be started, and whether the values report
    /// that.
    var heldUp: (since: Instant, isReported: Bool)?
    /// When to look after the metrics next.
    var measureAt = Instant.past
  }

  let guarded: Mutex<Guarded>
  /// Replicas whose share is gone. A lock of their own guards them, because a share may be released anywhere, even
  /// under `guarded`.
  private let departures = Mutex<[LinkState.ReplicaID]>([])

  let jobs = JobList()
  let loan = Loan()
  let quickEncoding: Duration
  let connector: any RedisConnector
  let connectTimeout: Duration
  let waker: Waker
  let threads: ThreadStarter
  /// Replaces the thread in a test's world.
  let schedule: (any Schedule)?
  let telemetry: LinkTelemetry
  let onStatusChange: @Sendable (_ session: Session, _ isLive: Bool, _ number: UInt64) -> Void

  /// - Parameter onStatusChange: Called from any thread, possibly late: of two calls, the one with the higher number
  ///   counts.
  package init(
    connector: any RedisConnector,
    connectTimeout: Duration,
    configuration: LinkState.Configuration,
    telemetry: LinkTelemetry,
    threads: ThreadStarter = .system,
    onStatusChange: @escaping @Sendable (_ session: Session, _ isLive: Bool, _ number: UInt64) -> Void
  ) {
    self.connector = connector
    self.connectTimeout = connectTimeout
    self.telemetry = telemetry
    self.threads = threads
    quickEncoding = configuration.quickEncoding
    self.onStatusChange = onStatusChange
    // A connection to another process blocks a thread, which a schedule cannot do.
    let schedule = connector is any ScheduledConnector ? Schedules.current : nil
    self.schedule = schedule
    waker = Waker(on: schedule)
    var state = LinkState(configuration: configuration, seed: Schedules.randomNumber())
    if telemetry.metrics.hasBackEnd { state.measurements.begin() }
    guarded = Mutex(Guarded(state: state))
    connector.onServerEvent { [weak self] event in
      switch event {
      // Sends nothing to the present server any more, and connects to the one that has taken over.
      case .moved: self?.update { $0.state.moved(now: .now) }
      case .unannounced(let sentinel, let error): self?.telemetry.failoversUnannounced(by: sentinel, error)
      }
    }
    ForkedChild.watch()
    if schedule == nil { JobWatch.shared.expect() }
  }

  // MARK: Replicas

  /// Makes a replica for a share. It is held weakly.
  ///
  /// - Parameters:
  ///   - valueType: All shares of a name have the same; `nil`: the replica goes with any of them.
  ///   - whenJoined: Takes the replica before its first effects are performed, which may run user code.
  /// - Throws: ``RedisSharedStateError/Code/valueTypeMismatch``,
  ///   ``RedisSharedStateError/Code/stopped``.
  package func join(
    _ names: KeyNames,
    name: String,
    valueType: String?,
    policy: ReplicaPolicy,
    attachment: any ReplicaAttachment,
    whenJoined: (LinkState.ReplicaID) -> Void
  ) throws(RedisSharedStateError) {
    try ForkedChild.refuse()
    let ((result, first), remaining) = decide { guarded in
      let first = guarded.state.firstAttachment(of: names)
      let result = Result { () throws(RedisSharedStateError) in
        try guarded.state.join(names, name: name, valueType: valueType, policy: policy, attachment: attachment)
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
  package func leave(_ id: LinkState.ReplicaID) {
    if ForkedChild.isCurrent { return }
    departures.withLock { $0.append(id) }
    waker.wake()
  }

  /// Notes that a share has changed since its last snapshot. Its box is held until the server has acknowledged the
  /// change.
  package func changed(_ id: LinkState.ReplicaID, keeping box: AnyObject) {
    let kept = RetainedBox(box, since: .now)
    update(sending: id) { $0.state.changed(id, keeping: kept) }
  }

  /// Notes that a share was changed, up to this stamp, although the link may commit nothing.
  package func discarded(_ id: LinkState.ReplicaID, stamp: UInt64) {
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
  package func flush(
    until deadline: Instant,
    completion: @escaping LinkState.WaiterCallback
  ) -> (waiters: [LinkState.WaiterID], hasGivenUp: Bool) {
    update { ($0.state.flush(until: deadline, callback: completion), !$0.state.givenUp.isEmpty) }
  }

  /// The report of a finished flush on changes that were given up. From then on they count as reported.
  func takeGivenUp(with heard: Set<Name>) -> GivenUpChanges.Report? {
    guard let report = guarded.withLock({ $0.state.givenUp.take(with: heard) }) else { return nil }
    for share in report.shares { share.attachment?.changesWereReported() }
    return report
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

  /// Stops waiting. The callback is not called any more.
  package func forget(_ waiters: [LinkState.WaiterID]) {
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
  package func start() {
    if ForkedChild.isCurrent { return }
    update { $0.state.start() }
  }

  /// Closes both connections. Unacknowledged changes stay in the boxes and are not sent any more.
  ///
  /// - Returns: The names of the replicas with a change that was not acknowledged.
  @discardableResult
  package func stop() -> [String] {
    if ForkedChild.isCurrent { return [] }
    defer { connector.close() }
    let (pending, isFirst) = update { guarded in
      let (pending, isFirst) = (guarded.state.pendingNames, guarded.state.session.phase != .stopped)
      guarded.state.stop()
      return (pending, isFirst)
    }
    if isFirst, schedule == nil { JobWatch.shared.expectNoMore() }
    return pending
  }

  /// How many replicas have a change that the server has not acknowledged.
  package var pendingChanges: Int {
    guarded.withLock { $0.state.pendingChanges }
  }

  /// The newest revision of a value that is known to be in Redis; `nil`: there is no share of it.
  package func confirmedRevision(of names: KeyNames) -> Revision? {
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
  package var openUpdates: (waiting: Int, sent: Int) {
    guarded.withLock { $0.state.openUpdates }
  }

  // MARK: Decisions

  /// Lets the state machines decide, then performs their effects on this thread, without the lock.
  ///
  /// - Parameter id: The value whose commit this thread sends itself, if nothing is under way.
  func update<Result: Sendable>(
    sending id: LinkState.ReplicaID? = nil,
    _ body: (inout Guarded) -> Result
  ) -> Result {
    let (result, remaining) = decide(sending: id, body)
    perform(remaining)
    return result
  }

  /// Lets the state machines decide, and returns their effects, which the caller performs.
  private func decide<Result: Sendable>(
    sending id: LinkState.ReplicaID? = nil,
    _ body: (inout Guarded) -> Result
  ) -> (Result, RemainingEffects) {
    let departed = takeDepartures()
    let sender = id.flatMap { loan.isOffered && CoderStack.hasRoom ? $0 : nil }
    let (result, remaining, needsWatch) = guarded.withLock { guarded -> (Result, RemainingEffects, Bool) in
      let isBehind = beginDecision(&guarded, departed, sender)
      let result = body(&guarded)
      let (remaining, needsWatch) = endDecision(&guarded, sender, isBehind: isBehind)
      return (result, remaining, needsWatch)
    }
    // Tries again to start the thread.
    if needsWatch { JobWatch.shared.add(self) }
    return (result, remaining)
  }

  // Functions of their own, because the compiler generates the code of `decide` for each type of result.
  private func beginDecision(
    _ guarded: inout Guarded,
    _ departed: [LinkState.ReplicaID],
    _ sender: LinkState.ReplicaID?
  ) -> Bool {
    let isBehind = guarded.hasLeftEffects
    for id in departed { guarded.state.leave(id) }
    if let sender, guarded.slow[.value(sender)] == nil { guarded.state.beginCall(of: sender) }
    return isBehind
  }

  private func endDecision(
    _ guarded: inout Guarded,
    _ sender: LinkState.ReplicaID?,
    isBehind: Bool
  ) -> (remaining: RemainingEffects, needsWatch: Bool) {
    var remaining = RemainingEffects()
    if let sender { remaining.direct = guarded.state.endCall(of: sender) }
    startThread(&guarded)
    takeEffects(of: &guarded, isBehind: isBehind, into: &remaining)
    return (remaining, schedule == nil && guarded.lacksThread && guarded.beginWatch())
  }

  func takeDepartures() -> [LinkState.ReplicaID] {
    departures.withLock { departures in
      defer { departures = [] }
      return departures
    }
  }

  /// Runs on the thread of the caller, whose own value the jobs concern.
  func perform(_ remaining: RemainingEffects) {
    wake(remaining)
    var next = remaining.jobs
    while !next.isEmpty {
      var more: [Job] = []
      for job in next {
        guard let outcome = perform(job) else { continue }
        var remaining = RemainingEffects()
        note(into: &remaining) { guarded, remaining in guarded.note(outcome, &remaining) }
        wake(remaining)
        more += remaining.jobs
      }
      next = more
    }
    if let encoding = remaining.direct { send(encoding) }
  }

  /// Encodes a change and sends it. If the thread has woken meanwhile, that sends it.
  private func send(_ encoding: Job) {
    guard let outcome = perform(encoding) else { return }
    let isBorrowed = loan.borrow()
    var remaining = RemainingEffects()
    let taken = note(into: &remaining) { guarded, remaining in
      guarded.note(outcome, &remaining)
      // This thread sends the request.
      if isBorrowed { remaining.wakesThread = false }
      return isBorrowed ? guarded.role.takeRequests(in: &guarded.state, now: .now) : nil
    }
    if let (open, requests) = taken { write(requests, to: open, &remaining) }
    if isBorrowed { loan.giveBack() }
    perform(remaining)
  }

  /// Writes requests to the borrowed connection without blocking.
  private func write(_ requests: [RedisRequest], to open: OpenConnection, _ remaining: inout RemainingEffects) {
    do throws(RedisSharedStateError) {
      try open.connection.send(requests)
      // The thread waits for something to read, and for nothing else.
      if case .socket(_, .readable) = open.connection.interest { return }
      remaining.wakesThread = true
    } catch {
      note(into: &remaining) { guarded, _ in guarded.role.note(.failed(error), in: &guarded.state, now: .now) }
    }
  }

  /// Lets the state machines note what a thread without the role has done, and takes the effects of that.
  private func note<Result: Sendable>(
    into remaining: inout RemainingEffects,
    _ body: (inout Guarded, inout RemainingEffects) -> Result
  ) -> Result {
    guarded.withLock { guarded in
      let isBehind = guarded.hasLeftEffects
      let result = body(&guarded, &remaining)
      takeEffects(of: &guarded, isBehind: isBehind, into: &remaining)
      return result
    }
  }

  /// Takes the effects of a decision on a thread without the role, which performs them.
  ///
  /// - Parameter isBehind: Whether effects were left before. They may be of other values, with slow code, so the link's
  ///   thread performs them, and these behind them.
  func takeEffects(of guarded: inout Guarded, isBehind: Bool, into remaining: inout RemainingEffects) {
    if isBehind { return remaining.wakesThread = true }
    remaining.add(guarded.state.takeEffects())
    guarded.setAside(&remaining)
  }

  /// Called before the jobs run, which may take long: the thread must not wait for a decoder if it has something to
  /// send.
  func wake(_ remaining: RemainingEffects) {
    if remaining.wakesThread { waker.wake() }
  }
}
