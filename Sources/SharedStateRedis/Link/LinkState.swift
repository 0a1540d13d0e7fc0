import HeapModule
import SharedState
import SharedStateDependencies

/// All decisions of one link, as a pure value: its session, its replicas, and the requests to send next.
///
/// The shell around it (``Link``) owns the lock, the threads and the connections. It reports events, performs the
/// ``Effect``s afterwards, and asks for the next ``Work`` of each connection's thread.
package struct LinkState: Sendable {
  package typealias ReplicaID = UInt64
  package typealias WaiterID = UInt64
  package typealias WaiterCallback = @Sendable (Result<StoredValue?, RedisSharedStateError>) -> Void

  /// The next work of a connection's thread while it is connected.
  package struct Work: Sendable {
    /// Requests to send as they are.
    package var requests: [RedisRequest] = []
    /// Values to encode, or updates to run. The results go to ``LinkState/encoded(_:_:now:)``.
    package var encodings: [(id: ReplicaID, encoding: Replica.Encoding)] = []
    /// Until when the thread may wait for input. A moment in the past if there is more to do.
    package var waitUntil: Instant

    var count: Int { requests.count + encodings.count }
  }

  enum Request: Sendable {
    case ping
    case role
    /// Asks for the server's vitals, for the replicas that have found a value missing.
    case vitals([ReplicaID])
    /// A PING on the subscriber, with the vitals that the writer's connection had reported by then.
    case hearing(Vitals)
    case track
    case subscribeInvalidations
    case subscribe([String])
    case unsubscribe
    case summarize([Look], isCheck: Bool)
    case read([(id: ReplicaID, number: UInt64)], bytes: Int)
    case summarizeOnce(OnceRead)
    case readOnce(WaiterID, bytes: Int)
    case commit(ReplicaID, Operation, bytes: Int)
  }

  struct Member {
    var replica: Replica
    let valueType: String
    /// The share's attachment, as effects carry it.
    let attachment: AttachmentReference
    /// The box, as long as it has an unacknowledged change.
    var unsettled: Kept?
    var isCommitQueued = false
    var isReadQueued = false
    var queuedCheck: Check?
    var isOwnCheckQueued = false
    var queuedSummary: Check?
    /// The size, in bytes, of the document that is queued for reading.
    var queuedDocument: Int?
    /// Whether its document is read alone, because the server has refused it together with others.
    var isReadAlone = false
    /// When it is looked at because of a message, or of a write that a message explains.
    var plannedLook: Instant?
    /// When the last message about it arrived.
    var announcedAt: Instant?
    /// How many services listen to it, as reported last.
    var listeners = 1
    /// Whether a commit was sent since the last look, so that an invalidation is most likely caused by it.
    var isCommittedSince = false
    /// The expected size of the document that is being encoded, in bytes; `nil` if none is.
    var encodingSize: Int?
    var repairs = Repairs()
    /// When it was looked at last; `nil` if the connection is new and the first read is still to come.
    var lookedAt: Instant?
    /// The part of the anti-entropy interval until the first look on a new connection. It is 1 after that look.
    var antiEntropyPart = 1.0
  }

  enum Subscription: Sendable {
    case subscribeInvalidations
    case subscribe(String)
    case unsubscribe(String)
    /// In a request of its own, because the server has refused the channels together with others.
    case subscribeTogether([String])
  }

  static let commitsInOneBatch = 256
  static let keysInOneRead = 1_024
  static let bytesInOneRead = 1 << 20
  /// How many bytes of documents are read at a time. A larger document is read alone.
  static let maximumReadBytes = 2 << 20
  static let channelsInOneSubscribe = 1_024
  /// The pause after a refused commit until it is tried again.
  static let pauseAfterRefusal = Duration.seconds(2)

  package internal(set) var session: Session
  let configuration: Configuration
  var random: SplitMix64
  var keepAlive: KeepAlive

  var members = SlotTable<Member>()
  var channels: [Name: [ReplicaID]] = [:]
  var subscribedChannels: Set<Name> = []

  var exchanges = PerConnection<Exchange<Request>?> { _ in nil }
  /// The threads that sleep until they are woken.
  var isWaiting = PerConnection { _ in false }

  /// The facts reported by the servers behind the connections.
  var facts = PerConnection<ServerFacts?> { _ in nil }
  var circumstances = Replica.Circumstances()
  /// The server's vitals as reported last.
  var vitals = Vitals()
  /// The server's vitals when it sent the messages that arrive now, or earlier ones. Messages arrive on another
  /// connection, and may have been under way for longer.
  var announcedVitals = Vitals()
  /// The value of `announcedVitals` as soon as the subscriber's PING is answered.
  var hearing: Vitals?
  /// When to ask for the vitals again, if there is anything to do; `nil` if the server does not reveal them.
  var vitalsAt: Instant?
  /// The replicas that have found a value missing, and need the present vitals.
  var countQueue: [ReplicaID] = []
  /// A reading of the server's clock, in microseconds since 1970, and when it was taken; `nil` if it is not known.
  var clock: (server: UInt64, at: Instant)?
  /// Whether a replica has left whose commit may still take effect.
  private var hasUndecided = false
  /// When the server was last heard from on a connection that has ended.
  var lastConnected: Instant?
  var tracking = Tracking.off
  var isTrackingQueued = false
  /// Whether the refusal was reported. Once is enough, however often the link reconnects.
  var hasToldTrackingRefused = false
  var hasToldVitalsRefused = false
  /// How many replicas detect foreign edits.
  var detecting = 0
  /// Whether the server permits ROLE.
  var asksForRole = true

  var checks = Checks()
  /// The replicas that have to confirm a message by a read.
  var confirmations = Queue<ReplicaID>()
  var subscriptionQueue = Queue<Subscription>()
  var readQueue = Queue<ReplicaID>()
  var readOnceQueue = Queue<OnceRead>()
  var documents = Documents()
  var commits = Commits()
  /// Values to be read in a request of their own, because the server has refused them together with others.
  var suspects = Queue<[ReplicaID]>()
  /// The setbacks that go on, by value.
  var setbacks: [Setback.Key: Setback] = [:]
  /// When to try again, the earliest first. Some entries are out of date.
  var retries = Heap<Setback.Retry>()
  var waits = Waits()
  var memories = Memories()
  var breaks = Breaks()
  /// Whether the present connection has served its purpose at least once, and since when it exists.
  var hasServed = false
  var connectedAt: Instant?

  var waiters: [WaiterID: Waiter] = [:]
  var deadlines = WaiterDeadlines()
  /// Until when the writer's thread sleeps at most; `nil` if it has not slept yet.
  var writerLooksAt: Instant?
  var nextWaiterID: WaiterID = 1

  var givenUp = GivenUpChanges()

  private(set) var effects: [Effect] = []
  /// Numbers the updates of a status, so that a late thread never overwrites a newer one.
  private var lastNumber: UInt64 = 0

  package init(configuration: Configuration, seed: UInt64) {
    self.configuration = configuration
    random = SplitMix64(seed: seed)
    session = Session(backoff: configuration.backoff)
    keepAlive = KeepAlive(interval: configuration.keepAlive)
  }

  /// Takes the effects to perform once the lock is released.
  mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  /// Whether there are effects to perform.
  var hasEffects: Bool { !effects.isEmpty }

  /// How many replicas have a local change that is not acknowledged.
  package var pendingChanges: Int { members.elements.reduce(0) { $0 + ($1.replica.hasPendingChange ? 1 : 0) } }

  /// How many atomic updates wait to be run or sent, and how many were sent and may have reached the server.
  package var openUpdates: (waiting: Int, sent: Int) {
    members.elements.reduce((0, 0)) { sum, member in
      let (waiting, sent) = member.replica.openUpdates
      return (sum.0 + waiting, sum.1 + sent)
    }
  }

  /// The newest revision that a share of the value knows to be in Redis; `nil` if there is no share of it.
  package func confirmedRevision(of names: KeyNames) -> Revision? {
    firstReplica(of: names).flatMap { members[$0]?.replica.confirmed.revision }
  }

  // MARK: Replicas

  /// The oldest of the replicas of a name; `nil` if there is none.
  func firstReplica(of names: KeyNames) -> ReplicaID? { channels[Name(names.channel)]?.first }

  /// The attachment of that replica.
  func firstAttachment(of names: KeyNames) -> AttachmentReference? {
    firstReplica(of: names).flatMap { members[$0]?.attachment }
  }

  /// Adds a replica for a new share of a name. The attachment is held weakly.
  ///
  /// - Throws: ``RedisSharedStateError/Code/valueTypeMismatch``, without the place,
  ///   ``RedisSharedStateError/Code/stopped``.
  package mutating func join(
    _ names: KeyNames,
    name: String,
    valueType: String,
    policy: ReplicaPolicy,
    attachment: (any ReplicaAttachment)? = nil
  ) throws(RedisSharedStateError) -> ReplicaID {
    if session.phase == .stopped { throw .stopped }
    let channel = Name(names.channel)
    for id in channels[channel] ?? [] {
      if let existing = members[id]?.valueType, existing != valueType {
        throw .valueTypeMismatch(name: name, existing: existing, requested: valueType, declaredAt: nil)
      }
    }
    var replica = Replica(name: name, names: names, policy: policy)
    replica.hasUndecided = hasUndecided
    // A change given up before the name was shared anew still counts, until the value is saved, which is reported then.
    if givenUp.contains(Name(name)) { replica.reports.saveFailed() }
    let id = members.insert(
      Member(replica: replica, valueType: valueType, attachment: AttachmentReference(attachment))
    )
    channels[channel, default: []].append(id)
    tellLoading(id, true)
    if policy.detectsForeignEdits { detecting += 1 }
    if session.phase == .connected {
      askForTracking()
      members[id]?.replica.connected(circumstances)
      if subscribedChannels.contains(channel) {
        apply(members[id]?.replica.subscribed(), to: id)
      } else if channels[channel]?.count == 1 {
        subscriptionQueue.append(.subscribe(names.channel))
        wake(.subscriber)
      }
    } else if let error = session.lastError {
      apply(members[id]?.replica.disconnected(error), to: id)
    }
    start()
    return id
  }

  /// Removes the replica of a share that is gone and has nothing left to save.
  package mutating func leave(_ id: ReplicaID) {
    endEncoding(of: id)
    guard let member = members.remove(id) else { return }
    // A share that is gone keeps its box while the last change is settled elsewhere.
    if let unsettled = member.unsettled { emit(.settled(id, unsettled)) }
    if member.replica.mayTakeEffectYet { hasUndecided = true }
    forgetMemory(of: member.replica)
    if member.replica.policy.detectsForeignEdits { detecting -= 1 }
    forgetExpiry(of: id)
    forgetSetbacks(of: id)
    breaks.forget(id)
    let channel = Name(member.replica.names.channel)
    channels[channel]?.removeAll { $0 == id }
    guard channels[channel]?.isEmpty ?? false else { return }
    channels[channel] = nil
    restIfUnused()
    guard session.phase == .connected else { return }
    subscribedChannels.remove(channel)
    subscriptionQueue.append(.unsubscribe(channel.text))
    wake(.subscriber)
  }

  /// A local mutation was made since the last snapshot. Its box is kept until the server has acknowledged the mutation.
  package mutating func changed(_ id: ReplicaID, keeping box: Kept? = nil) {
    members[id]?.unsettled = box
    if session.phase == .stopped {
      tellSaveError(id, .stopped)
      settle(id)
      if let name = members[id]?.replica.name { noteGivenUp(name, .stopped) }
    } else {
      apply(members[id]?.replica.changed(), to: id)
    }
  }

  /// An attempt to show a state has ended.
  package mutating func delivered(
    _ delivery: Replica.Delivery,
    to id: ReplicaID,
    outcome: Replica.DeliveryOutcome
  ) {
    apply(members[id]?.replica.delivered(delivery, outcome: outcome), to: id)
  }

  // MARK: -

  mutating func apply(
    _ actions: [Replica.Action]?,
    to id: ReplicaID,
    now: Instant? = nil
  ) {
    for action in actions ?? [] {
      switch action {
      case .show(let delivery):
        if let member = members[id] { emit(.show(id, delivery, member.attachment)) }
      case .loading(let isLoading): tellLoading(id, isLoading)
      case .loadError(let error): tellLoadError(id, error)
      case .saveError(let error):
        tellSaveError(id, error)
        if error == nil, !givenUp.isEmpty, let name = members[id]?.replica.name { givenUp.remove(Name(name)) }
      case .settled: settle(id)
      case .read:
        queueRead(of: id)
      case .readLater(let milliseconds):
        checks.requested[id] = .milliseconds(Int64(clamping: milliseconds))
        wake(.writer)
      case .confirm:
        confirmations.append(id)
        wake(.writer)
      case .count:
        countQueue.append(id)
        wake(.writer)
      case .wait(let grace):
        waits.requested.append((grace, id))
        wake(.writer)
      case .commit:
        queueCommit(of: id)
      case .retryLater:
        if let now { pauseAfterRefusal(of: id, .commit, now: now) }
      case .resume(let ids, let error):
        resume(ids, error, of: id)
      case .report(let incident):
        guard let name = members[id]?.replica.name else { continue }
        if case .gaveUp = incident { givenUp.insert(Name(name)) }
        emit(.incident(name: name, incident))
      }
    }
    if let growth = members[id]?.replica.evidence.memory.takeGrowth() { remembered(growth, by: id) }
  }

  /// Wakes the thread of a connection if it is sleeping.
  mutating func wake(_ purpose: ConnectionPurpose) {
    guard isWaiting[purpose] else { return }
    isWaiting[purpose] = false
    emit(.wake(purpose))
  }

  // MARK: Effects

  mutating func emit(_ effect: Effect) { effects.append(effect) }

  mutating func tellStatus() {
    emit(.sessionChanged(session))
    emit(.statusChanged(session, number: nextNumber()))
  }

  mutating func tellLoading(_ id: ReplicaID, _ isLoading: Bool) {
    guard let attachment = members[id]?.attachment else { return }
    emit(.loading(id, isLoading, attachment, number: nextNumber()))
  }

  mutating func tellLoadError(_ id: ReplicaID, _ error: RedisSharedStateError?) {
    guard let attachment = members[id]?.attachment else { return }
    emit(.loadError(id, error, attachment, number: nextNumber()))
  }

  mutating func tellSaveError(_ id: ReplicaID, _ error: RedisSharedStateError?) {
    guard let attachment = members[id]?.attachment else { return }
    emit(.saveError(id, error, attachment, number: nextNumber()))
  }

  /// Lets go of the box of a replica.
  mutating func settle(_ id: ReplicaID) { emit(.settled(id, members[id]?.unsettled.take())) }

  /// Resumes those waiters that are still waiting.
  ///
  /// - Parameter replica: Its earlier effects come first; `nil`: nothing has to.
  mutating func resume(_ ids: [WaiterID], _ error: RedisSharedStateError?, of replica: ReplicaID? = nil) {
    var (known, callbacks): ([WaiterID], [WaiterCallback]) = ([], [])
    for id in ids {
      guard let waiter = waiters.removeValue(forKey: id) else { continue }
      known.append(id)
      callbacks.append(waiter.callback)
    }
    if !known.isEmpty { emit(.resume(known, error, of: replica, callbacks)) }
  }

  private mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }
}
