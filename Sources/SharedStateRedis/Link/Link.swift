import Foundation
import Synchronization

/// The shell around ``LinkState``: holds its lock, performs its effects, and runs its two threads.
///
/// The lock guards the state machines and is held for their decisions only. Encoding, decoding, showing a value, and
/// resuming whoever waits happen after it was given back.
package final class Link: Sendable {
  package typealias WaiterCallback = @Sendable (Result<StoredValue?, RedisSharedStateError>) -> Void

  /// An object, because a weak reference is expensive to copy and to move. Guarded as the dictionary that holds it.
  private final class Member {
    private(set) weak var attachment: (any ReplicaAttachment)?
    /// The reference, for as long as it has a change that is not acknowledged.
    var unsettled: AnyObject?

    init(attachment: any ReplicaAttachment) {
      self.attachment = attachment
    }
  }

  private struct Waiter {
    let callback: WaiterCallback
    /// What is to be run first.
    var update: AtomicUpdate?
  }

  private struct Guarded {
    var state: LinkState
    var members: [LinkState.ReplicaID: Member] = [:]
    var waiters: [LinkState.WaiterID: Waiter] = [:]
    var running: Set<ConnectionPurpose> = []
    /// Numbers what is told about a status, so that a thread that is late never overwrites what is newer.
    var lastNumber: UInt64 = 0
  }

  /// An effect together with whom it concerns. References are released with it, never under the lock.
  private enum Task: @unchecked Sendable {
    // `@unchecked Sendable` is right because a kept reference is only held here, to be released, and not used.
    case show(any ReplicaAttachment, LinkState.ReplicaID, Replica.Delivery)
    case loading(any ReplicaAttachment, Bool, number: UInt64)
    case loadError(any ReplicaAttachment, RedisSharedStateError?, number: UInt64)
    case saveError(any ReplicaAttachment, RedisSharedStateError?, number: UInt64)
    case release(AnyObject)
    case resume([WaiterCallback], Result<StoredValue?, RedisSharedStateError>)
    case wake(ConnectionPurpose)
    case statusChanged(Session, number: UInt64)
    case incident(name: String, Replica.Incident)
    case malformedMessage(channel: String)
    case trackingRefused(RedisSharedStateError)
  }

  private let guarded: Mutex<Guarded>
  /// Shares that are gone. They have a lock of their own, because a share may be released anywhere, also under `guarded`.
  private let departures = Mutex<[LinkState.ReplicaID]>([])

  private let connector: any RedisConnector
  private let connectTimeout: Duration
  private let wakers: PerConnection<Waker>
  private let watch: LinkWatch
  private let onStatusChange: @Sendable (_ session: Session, _ number: UInt64) -> Void

  /// - Parameter onStatusChange: Is called from any thread, and maybe late: of two calls the one with the higher number
  ///   counts.
  package init(
    connector: any RedisConnector,
    connectTimeout: Duration,
    configuration: LinkState.Configuration,
    watch: LinkWatch,
    onStatusChange: @escaping @Sendable (_ session: Session, _ number: UInt64) -> Void
  ) {
    self.connector = connector
    self.connectTimeout = connectTimeout
    self.watch = watch
    self.onStatusChange = onStatusChange
    var wakers = PerConnection<Waker>()
    for purpose in ConnectionPurpose.allCases { wakers[purpose] = Waker() }
    self.wakers = wakers
    guarded = Mutex(Guarded(state: LinkState(configuration: configuration, seed: .random(in: .min ... .max))))
  }

  // MARK: Replicas

  /// Makes a replica for a share. It is held weakly.
  ///
  /// - Throws: ``RedisSharedStateError/valueTypeMismatch(name:existing:requested:)``, ``RedisSharedStateError/stopped``.
  package func join(
    _ names: KeyNames,
    name: String,
    valueType: String,
    policy: ReplicaPolicy,
    attachment: any ReplicaAttachment
  ) throws(RedisSharedStateError) -> LinkState.ReplicaID {
    try update { guarded in
      Result { () throws(RedisSharedStateError) in
        let id = try guarded.state.join(names, name: name, valueType: valueType, policy: policy)
        guarded.members[id] = Member(attachment: attachment)
        return id
      }
    }.get()
  }

  /// The share of a replica is gone. May be called from anywhere.
  package func leave(_ id: LinkState.ReplicaID) {
    departures.withLock { $0.append(id) }
    wakers[.writer]?.wake()
  }

  /// A share has changed since its last snapshot. Its reference is held until the server has acknowledged that.
  package func changed(_ id: LinkState.ReplicaID, keeping reference: AnyObject) {
    let kept = Kept(reference)
    update { guarded in
      guarded.members[id]?.unsettled = kept.object
      guarded.state.changed(id)
    }
  }

  // MARK: Waiting

  /// Calls back once the present value of a replica, with this stamp, is kept.
  package func save(
    _ id: LinkState.ReplicaID,
    stamp: UInt64,
    keeping reference: AnyObject,
    completion: @escaping WaiterCallback
  ) -> LinkState.WaiterID? {
    let kept = Kept(reference)
    return begin(completion) { guarded throws(RedisSharedStateError) in
      let waiter = try guarded.state.save(id, stamp: stamp, now: .now)
      // Not before it has been accepted: nothing would ever settle it.
      guarded.members[id]?.unsettled = kept.object
      return waiter
    }
  }

  /// Calls back once the update has taken effect, or was found to change nothing, and the box shows it.
  package func update(
    _ id: LinkState.ReplicaID,
    with update: @escaping AtomicUpdate,
    completion: @escaping WaiterCallback
  ) -> LinkState.WaiterID? {
    begin(completion, update) { guarded throws(RedisSharedStateError) in try guarded.state.update(id, now: .now) }
  }

  /// Calls back once what was stored for a replica is deleted, and the box shows its default.
  package func reset(
    _ id: LinkState.ReplicaID,
    stamp: UInt64,
    keeping reference: AnyObject,
    completion: @escaping WaiterCallback
  ) -> LinkState.WaiterID? {
    let kept = Kept(reference)
    return begin(completion) { guarded throws(RedisSharedStateError) in
      let waiter = try guarded.state.reset(id, stamp: stamp, now: .now)
      guarded.members[id]?.unsettled = kept.object
      return waiter
    }
  }

  /// Calls back once what is stored for a replica is shown.
  package func load(_ id: LinkState.ReplicaID, completion: @escaping WaiterCallback) -> LinkState.WaiterID? {
    begin(completion) { guarded throws(RedisSharedStateError) in try guarded.state.load(id, now: .now) }
  }

  /// Calls back with what is stored under a name.
  package func read(_ names: KeyNames, completion: @escaping WaiterCallback) -> LinkState.WaiterID? {
    begin(completion) { guarded throws(RedisSharedStateError) in try guarded.state.read(names, now: .now) }
  }

  /// Calls back once for each change that is not acknowledged yet, at the deadline at the latest.
  package func flush(
    until deadline: ContinuousClock.Instant,
    completion: @escaping WaiterCallback
  ) -> [LinkState.WaiterID] {
    update { guarded in
      let waiters = guarded.state.flush(until: deadline)
      for waiter in waiters { guarded.waiters[waiter] = Waiter(callback: completion) }
      return waiters
    }
  }

  /// Stops waiting. The callback is not called any more.
  package func forget(_ waiters: [LinkState.WaiterID]) {
    update { guarded in
      for waiter in waiters {
        guarded.state.forget(waiter)
        guarded.waiters[waiter] = nil
      }
    }
  }

  /// Stops waiting for an atomic update. The callback is not called any more.
  ///
  /// - Returns: Whether it may take effect all the same, or has.
  package func cancelUpdate(_ waiter: LinkState.WaiterID) -> Bool {
    update { guarded in
      guarded.waiters[waiter] = nil
      return guarded.state.cancelUpdate(waiter)
    }
  }

  private func begin(
    _ completion: @escaping WaiterCallback,
    _ update: AtomicUpdate? = nil,
    _ body: (inout Guarded) throws(RedisSharedStateError) -> LinkState.WaiterID
  ) -> LinkState.WaiterID? {
    let result = self.update { guarded in
      Result { () throws(RedisSharedStateError) in
        let waiter = try body(&guarded)
        guarded.waiters[waiter] = Waiter(callback: completion, update: update)
        return waiter
      }
    }
    switch result {
    case .success(let waiter):
      return waiter
    case .failure(let error):
      completion(.failure(error))
      return nil
    }
  }

  // MARK: The session

  /// Connects, if it has not been done.
  package func start() {
    update { $0.state.start() }
  }

  /// Closes both connections. What is not acknowledged stays in the boxes and is not sent any more.
  ///
  /// - Returns: How many replicas have a change that was not acknowledged.
  @discardableResult
  package func stop() -> Int {
    update { guarded in
      let pending = guarded.state.pendingChanges
      guarded.state.stop()
      return pending
    }
  }

  /// How many replicas have a change that the server has not acknowledged.
  package var pendingChanges: Int {
    guarded.withLock { $0.state.pendingChanges }
  }

  /// The newest revision of a value that a share of it knows to be in Redis; `nil`: there is no share of it.
  package func confirmedRevision(of names: KeyNames) -> Revision? {
    guarded.withLock { $0.state.confirmedRevision(of: names) }
  }

  /// How many atomic updates wait to be run or sent, and how many the server may have by now.
  package var openUpdates: (waiting: Int, sent: Int) {
    guarded.withLock { $0.state.openUpdates }
  }

  // MARK: Effects

  /// Lets the state machines decide, then performs what they decided without the lock.
  private func update<Result: Sendable>(_ body: (inout Guarded) -> Result) -> Result {
    let departed = departures.withLock { departures in
      defer { departures = [] }
      return departures
    }
    let (result, tasks) = guarded.withLock { guarded -> (Result, [Task]) in
      var tasks: [Task] = []
      for id in departed {
        guarded.state.leave(id)
        if let unsettled = guarded.members.removeValue(forKey: id)?.unsettled { tasks.append(.release(unsettled)) }
      }
      let result = body(&guarded)
      startThreads(&guarded)
      resolve(&guarded, into: &tasks)
      return (result, tasks)
    }
    if !tasks.isEmpty { perform(tasks) }
    return result
  }

  private func perform(_ tasks: [Task]) {
    wakeThreads(of: tasks)
    var next = tasks
    while !next.isEmpty {
      var more: [Task] = []
      for task in next { perform(task, leadingTo: &more) }
      next = more
    }
  }

  /// Before everything else, which may take long: a thread with something to send does not wait for who decodes, or for
  /// a share that is locked.
  private func wakeThreads(of tasks: [Task]) {
    for case .wake(let purpose) in tasks { wakers[purpose]?.wake() }
  }

  private func perform(_ task: Task, leadingTo more: inout [Task]) {
    switch task {
    case .show(let attachment, let id, let delivery):
      let outcome = attachment.show(delivery)
      let next = guarded.withLock { guarded -> [Task] in
        var next: [Task] = []
        guarded.state.delivered(delivery, to: id, outcome: outcome)
        resolve(&guarded, into: &next)
        return next
      }
      wakeThreads(of: next)
      more += next
    case .loading(let attachment, let isLoading, let number): attachment.setLoading(isLoading, number: number)
    case .loadError(let attachment, let error, let number): attachment.setLoadError(error, number: number)
    case .saveError(let attachment, let error, let number): attachment.setSaveError(error, number: number)
    case .release, .wake: break
    case .resume(let callbacks, let result): for callback in callbacks { callback(result) }
    case .statusChanged(let session, let number):
      watch.sessionChanged(session)
      onStatusChange(session, number)
    case .incident(let name, let incident): watch.happened(incident, to: name)
    case .trackingRefused(let error): watch.trackingRefused(error)
    case .malformedMessage(let channel): watch.ignoredMessage(on: channel)
    }
  }

  private func resolve(_ guarded: inout Guarded, into tasks: inout [Task]) {
    for effect in guarded.state.takeEffects() {
      guarded.lastNumber += 1
      switch effect {
      case .show(let id, let delivery):
        guard let attachment = guarded.members[id]?.attachment else { continue }
        tasks.append(.show(attachment, id, delivery))
      case .loading(let id, let isLoading):
        guard let attachment = guarded.members[id]?.attachment else { continue }
        tasks.append(.loading(attachment, isLoading, number: guarded.lastNumber))
      case .loadError(let id, let error):
        guard let attachment = guarded.members[id]?.attachment else { continue }
        tasks.append(.loadError(attachment, error, number: guarded.lastNumber))
      case .saveError(let id, let error):
        guard let attachment = guarded.members[id]?.attachment else { continue }
        tasks.append(.saveError(attachment, error, number: guarded.lastNumber))
      case .settled(let id):
        guard let unsettled = guarded.members[id]?.unsettled else { continue }
        guarded.members[id]?.unsettled = nil
        tasks.append(.release(unsettled))
      case .resume(let waiters, let error):
        let callbacks = waiters.compactMap { guarded.waiters.removeValue(forKey: $0)?.callback }
        if !callbacks.isEmpty { tasks.append(.resume(callbacks, error.map(Result.failure) ?? .success(nil))) }
      case .answer(let waiter, let stored):
        guard let callback = guarded.waiters.removeValue(forKey: waiter)?.callback else { continue }
        tasks.append(.resume([callback], .success(stored)))
      case .wake(let purpose): tasks.append(.wake(purpose))
      case .statusChanged: tasks.append(.statusChanged(guarded.state.session, number: guarded.lastNumber))
      case .incident(let name, let incident): tasks.append(.incident(name: name, incident))
      case .trackingRefused(let error): tasks.append(.trackingRefused(error))
      case .malformedMessage(let channel): tasks.append(.malformedMessage(channel: channel))
      }
    }
  }

  // MARK: Threads

  private func startThreads(_ guarded: inout Guarded) {
    guard guarded.running.count < ConnectionPurpose.allCases.count else { return }
    guard guarded.state.session.phase != .idle, guarded.state.session.phase != .stopped else { return }
    for purpose in ConnectionPurpose.allCases where guarded.running.insert(purpose).inserted {
      let thread = Thread { [self] in run(purpose) }
      thread.name = "redis-\(purpose.rawValue)"
      // Decoding a deeply nested document recurses; half a megabyte, the default, overflows before the decoder stops.
      thread.stackSize = 2 << 20
      thread.start()
    }
  }

  /// The body of the thread that owns the connection for one purpose.
  private func run(_ purpose: ConnectionPurpose) {
    guard let waker = wakers[purpose] else { return }
    var open: (connection: any RedisConnection, epoch: UInt64)?
    while true {
      let instruction = update { guarded in
        let instruction = guarded.state.instruction(for: purpose, now: .now)
        // Decided under the lock, so that whoever needs the server next starts a new thread.
        if instruction == .exit { guarded.running.remove(purpose) }
        return instruction
      }
      if let (connection, epoch) = open, instruction != .serve(epoch: epoch) {
        connection.close()
        open = nil
      }
      switch instruction {
      case .exit:
        return
      case .wait(let until):
        waker.wait(until: until)
      case .connect(let epoch):
        let watch = purpose == .writer ? _Concurrency.Task { await expireWaiters() } : nil
        defer { watch?.cancel() }
        do throws(RedisSharedStateError) {
          let connection = try connector.connect(purpose: purpose, waker: waker, deadline: .now + connectTimeout)
          open = (connection, epoch)
          let facts = connection.facts
          update { $0.state.connected(purpose, facts, epoch: epoch, now: .now) }
        } catch {
          update { $0.state.failed(epoch: epoch, error: error, now: .now) }
        }
      case .serve(let epoch):
        guard let (connection, _) = open else {
          update { $0.state.failed(epoch: epoch, error: .disconnected(reason: "not open"), now: .now) }
          continue
        }
        do throws(RedisSharedStateError) {
          try serve(connection, purpose, epoch: epoch)
        } catch {
          update { $0.state.failed(epoch: epoch, error: error, now: .now) }
        }
      }
    }
  }

  /// Watches the deadlines in the place of the writer's thread, while that connects, until it is cancelled.
  private func expireWaiters() async {
    while !_Concurrency.Task.isCancelled {
      let next = update { guarded in
        guarded.state.expireWaiters(now: .now)
        return guarded.state.nextExpiry
      }
      // Who begins to wait meanwhile does not wake it.
      let latest = ContinuousClock.now + .seconds(1)
      try? await _Concurrency.Task.sleep(until: min(next ?? latest, latest), clock: .continuous)
    }
  }

  /// Sends what there is to send, and handles what arrives, until the connection is to be closed.
  private func serve(
    _ connection: any RedisConnection,
    _ purpose: ConnectionPurpose,
    epoch: UInt64
  ) throws(RedisSharedStateError) {
    var events: [RedisEvent] = []
    while let deadline = try send(on: connection, purpose, epoch: epoch, after: events) {
      events = try connection.receive(until: deadline)
    }
  }

  /// Handles what has arrived, and sends what there is to send.
  ///
  /// - Returns: Until when to wait for more; `nil`: the connection is to be closed.
  private func send(
    on connection: any RedisConnection,
    _ purpose: ConnectionPurpose,
    epoch: UInt64,
    after events: [RedisEvent]
  ) throws(RedisSharedStateError) -> ContinuousClock.Instant? {
    // Not kept while the thread waits: who encodes may be gone by then.
    guard let round = nextRound(after: events, hasHeard: connection.hasHeard, purpose, epoch) else { return nil }
    let requests = round.requests + encode(round.encodings)
    if !requests.isEmpty { try connection.send(requests) }
    return round.waitUntil
  }

  /// What a thread does with the lock given back: ``LinkState/Work``, and who is to encode.
  private struct Round: Sendable {
    struct Encoding: Sendable {
      let id: LinkState.ReplicaID
      let encoding: Replica.Encoding
      let attachment: (any ReplicaAttachment)?
      let updates: [LinkState.WaiterID: AtomicUpdate]
    }

    let requests: [RedisRequest]
    let encodings: [Encoding]
    let waitUntil: ContinuousClock.Instant
  }

  /// Handles what has arrived; what is next.
  private func nextRound(
    after events: [RedisEvent],
    hasHeard: Bool,
    _ purpose: ConnectionPurpose,
    _ epoch: UInt64
  ) -> Round? {
    let (isDecided, round) = update { guarded -> (Bool, Round?) in
      let now = ContinuousClock.now
      guarded.state.arrived(events, hasHeard: hasHeard, on: purpose, epoch: epoch, now: now)
      // Who waits is told before anything else is done, and what is shown may lead to more.
      if guarded.state.hasEffects { return (false, nil) }
      return (true, takeRound(&guarded, purpose, epoch, now))
    }
    return isDecided ? round : update { takeRound(&$0, purpose, epoch, .now) }
  }

  private func takeRound(
    _ guarded: inout Guarded,
    _ purpose: ConnectionPurpose,
    _ epoch: UInt64,
    _ now: ContinuousClock.Instant
  ) -> Round? {
    guard let work = guarded.state.work(for: purpose, epoch: epoch, now: now) else { return nil }
    let encodings = work.encodings.map { id, encoding in
      var updates: [LinkState.WaiterID: AtomicUpdate] = [:]
      for waiter in encoding.updates { updates[waiter] = guarded.waiters[waiter]?.update }
      return Round.Encoding(
        id: id,
        encoding: encoding,
        attachment: guarded.members[id]?.attachment,
        updates: updates
      )
    }
    return Round(requests: work.requests, encodings: encodings, waitUntil: work.waitUntil)
  }

  private func encode(_ encodings: [Round.Encoding]) -> [RedisRequest] {
    guard !encodings.isEmpty else { return [] }
    let encoded = encodings.map { work in
      let stopped = Replica.Encoded(stamp: 0, result: .failure(.stopped))
      return (work.id, work.attachment?.encode(work.encoding, updates: work.updates) ?? stopped)
    }
    return update { guarded in
      let now = ContinuousClock.now
      return encoded.compactMap { id, encoded in guarded.state.encoded(id, encoded, now: now) }
    }
  }
}

/// Carries a reference into the lock, where it is only kept.
private struct Kept: @unchecked Sendable {
  // `@unchecked Sendable` is right because the object is only retained and released.
  let object: AnyObject

  init(_ object: AnyObject) {
    self.object = object
  }
}
