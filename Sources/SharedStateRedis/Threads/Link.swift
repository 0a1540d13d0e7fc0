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
    var roles = PerConnection { Role<OpenConnection>($0) }
    /// Whether a thread has both roles.
    var hasThread = false
    /// Owners whose code kept the thread for so long that another one took over its roles, or whose jobs are postponed.
    var slow: [Job.Owner: SlowOwner] = [:]
    /// The owners whose jobs are postponed, and the one that had its turn last.
    var postponed = Queue<Job.Owner>()
    var served: Job.Owner?
    /// Numbers the threads.
    var lastTurn: UInt64 = 0
    /// How many batches of jobs there were.
    var batches: UInt64 = 0
    /// What ``JobWatch`` has seen of them; `nil`: it does not watch.
    var watched: (batches: UInt64, idleTicks: Int)?
    /// Since when a job has kept the roles because no other thread could be started, and whether the values report
    /// that.
    var heldUp: (since: Instant, isReported: Bool)?
    /// When to look after the metrics next.
    var measureAt = Instant.past
  }

  let guarded: Mutex<Guarded>
  /// Replicas whose share is gone. A lock of their own guards them, because a share may be released anywhere, even
  /// under `guarded`.
  private let departures = Mutex<[LinkState.ReplicaID]>([])

  /// Whether a change has ever been given up; written with `guarded` held.
  private let hasGivenUp = Atomic(false)

  let jobs = JobList()
  let loan = Loan()
  let quickEncoding: Duration
  let connector: any RedisConnector
  let connectTimeout: Duration
  let waker: Waker
  /// The connections that the thread has to look at, one bit for each, because of a wake-up.
  let wakes = Atomic<UInt8>(0)
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
    connector.whenMoved { [weak self] in self?.moved() }
    ForkedChild.watch()
    if schedule == nil { JobWatch.shared.expect() }
  }

  /// Sends nothing to the present server any more, and connects to the one that has taken over.
  private func moved() { update { $0.state.moved(now: .now) } }

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
    wake(.writer)
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

  /// Calls back once the server has acknowledged the present value of a replica, with this stamp.
  package func save(
    _ id: LinkState.ReplicaID,
    stamp: UInt64,
    replacingUnreadable: Bool,
    within timeout: Duration?,
    keeping box: AnyObject,
    completion: @escaping LinkState.WaiterCallback
  ) -> LinkState.WaiterID? {
    let kept = RetainedBox(box, since: .now)
    return begin(completion, sending: id) { state throws(RedisSharedStateError) in
      try state.save(
        id,
        stamp: stamp,
        replacingUnreadable: replacingUnreadable,
        within: timeout,
        now: .now,
        keeping: kept,
        callback: completion
      )
    }
  }

  /// Calls back once the update has taken effect, or was found to change nothing, and the box shows it.
  package func update(
    _ id: LinkState.ReplicaID,
    with update: @escaping AtomicUpdate,
    within timeout: Duration?,
    completion: @escaping LinkState.WaiterCallback
  ) -> LinkState.WaiterID? {
    begin(completion, sending: id) { state throws(RedisSharedStateError) in
      try state.update(id, with: update, within: timeout, now: .now, callback: completion)
    }
  }

  /// Calls back once the stored value of a replica is deleted, and the box shows its default.
  package func reset(
    _ id: LinkState.ReplicaID,
    stamp: UInt64,
    within timeout: Duration?,
    keeping box: AnyObject,
    completion: @escaping LinkState.WaiterCallback
  ) -> LinkState.WaiterID? {
    let kept = RetainedBox(box, since: .now)
    return begin(completion) { state throws(RedisSharedStateError) in
      try state.reset(id, stamp: stamp, within: timeout, now: .now, keeping: kept, callback: completion)
    }
  }

  /// Calls back once the box shows the stored value of a replica.
  package func load(
    _ id: LinkState.ReplicaID,
    within timeout: Duration?,
    completion: @escaping LinkState.WaiterCallback
  ) -> LinkState.WaiterID? {
    begin(completion) { state throws(RedisSharedStateError) in
      try state.load(id, within: timeout, now: .now, callback: completion)
    }
  }

  /// Calls back with the stored value of a name, but only the size of a document that is larger than `maximumBytes`.
  package func read(
    _ names: KeyNames,
    maximumBytes: Int,
    completion: @escaping LinkState.WaiterCallback
  ) -> LinkState.WaiterID? {
    begin(completion) { state throws(RedisSharedStateError) in
      try state.read(names, maximumBytes: maximumBytes, now: .now, callback: completion)
    }
  }

  /// Calls back once for each change that is not acknowledged yet, no later than at the deadline.
  package func flush(
    until deadline: Instant,
    completion: @escaping LinkState.WaiterCallback
  ) -> [LinkState.WaiterID] {
    update { $0.state.flush(until: deadline, callback: completion) }
  }

  /// The report of a finished flush on changes that were given up. From then on they count as reported.
  func takeGivenUp(with heard: Set<Name>) -> GivenUpChanges.Report? {
    // A flush without such changes does not compete for the lock with the thread that has resumed it.
    guard hasGivenUp.load(ordering: .acquiring) else { return nil }
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

  private func begin(
    _ completion: @escaping LinkState.WaiterCallback,
    sending id: LinkState.ReplicaID? = nil,
    _ body: (inout LinkState) throws(RedisSharedStateError) -> LinkState.WaiterID
  ) -> LinkState.WaiterID? {
    do throws(RedisSharedStateError) {
      try ForkedChild.refuse()
      return try update(sending: id) { guarded in
        Result { () throws(RedisSharedStateError) in try body(&guarded.state) }
      }.get()
    } catch {
      completion(.failure(error))
      return nil
    }
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
      beginDecision(&guarded, departed, sender)
      let result = body(&guarded)
      let (remaining, needsWatch) = endDecision(&guarded, sender)
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
  ) {
    for id in departed { guarded.state.leave(id) }
    if let sender, guarded.slow[.value(sender)] == nil { guarded.state.beginCall(of: sender) }
  }

  private func endDecision(
    _ guarded: inout Guarded,
    _ sender: LinkState.ReplicaID?
  ) -> (remaining: RemainingEffects, needsWatch: Bool) {
    var remaining = RemainingEffects()
    if let sender { remaining.direct = guarded.state.endCall(of: sender) }
    startThread(&guarded, &remaining)
    takeEffects(of: &guarded, into: &remaining)
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
        let remaining = guarded.withLock { guarded -> RemainingEffects in
          var remaining = RemainingEffects()
          guarded.note(outcome, &remaining)
          takeEffects(of: &guarded, into: &remaining)
          return remaining
        }
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
    var (taken, remaining) = guarded.withLock { guarded in
      var remaining = RemainingEffects()
      guarded.note(outcome, &remaining)
      // This thread sends the request.
      if isBorrowed { remaining.wakesWriter = false }
      let taken = isBorrowed ? guarded.roles[.writer].takeRequests(in: &guarded.state, now: .now) : nil
      takeEffects(of: &guarded, into: &remaining)
      return (taken, remaining)
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
      remaining.wakesWriter = true
    } catch {
      guarded.withLock { guarded in
        guarded.roles[.writer].note(.failed(error), in: &guarded.state, now: .now)
        takeEffects(of: &guarded, into: &remaining)
      }
    }
  }

  func takeEffects(of guarded: inout Guarded, into remaining: inout RemainingEffects) {
    add(guarded.state.takeEffects(), of: guarded.state, to: &remaining)
  }

  func add(_ effects: [LinkState.Effect], of state: LinkState, to remaining: inout RemainingEffects) {
    remaining.add(effects)
    // Set while the lock is held: a flush that finds nothing pending any more has to see it.
    if state.hasGivenUp { hasGivenUp.store(true, ordering: .releasing) }
  }

  /// Called before the jobs run, which may take long: the thread must not wait for a decoder if it has something to
  /// send.
  func wake(_ remaining: RemainingEffects) {
    if remaining.wakesWriter { wake(.writer) }
    if remaining.wakesSubscriber { wake(.subscriber) }
  }

  /// Has the thread look at a connection.
  func wake(_ purpose: ConnectionPurpose) {
    note(wakeOf: purpose)
    waker.wake()
  }

  /// Has the thread look at a connection before it sleeps.
  func note(wakeOf purpose: ConnectionPurpose) {
    wakes.bitwiseOr(purpose.bit, ordering: .sequentiallyConsistent)
  }

  /// The connections that were woken since the last call.
  func takeWakes() -> PerConnection<Bool> {
    let bits = wakes.exchange(0, ordering: .sequentiallyConsistent)
    return PerConnection { bits & $0.bit != 0 }
  }
}

extension ConnectionPurpose {
  fileprivate var bit: UInt8 { self == .writer ? 1 : 2 }
}
