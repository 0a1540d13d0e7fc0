import HeapModule
import SharedState
import SharedStateDependencies

/// Everything that one link decides, as a pure value: its session, its replicas, and what is to be sent next.
///
/// The shell around it (``Link``) owns the lock, the threads and the connections. It hands in what happened, performs
/// the ``Effect``s afterwards, and asks each connection's thread's next ``Work``.
package struct LinkState: Sendable {
  package typealias ReplicaID = UInt64
  package typealias WaiterID = UInt64

  /// What the shell has to do, in this order, after it has given back the lock.
  package enum Effect: Sendable {
    /// Decode and show a state, and report with ``LinkState/delivered(_:to:outcome:)``.
    case show(ReplicaID, Replica.Delivery)
    case loading(ReplicaID, Bool)
    case loadError(ReplicaID, RedisSharedStateError?)
    case saveError(ReplicaID, RedisSharedStateError?)
    case settled(ReplicaID)
    /// `of`: after everything that came before it for the same replica; `nil`: at once.
    case resume([WaiterID], RedisSharedStateError?, of: ReplicaID? = nil)
    case answer(WaiterID, StoredValue)
    /// The thread of this connection has something to do.
    case wake(ConnectionPurpose)
    case statusChanged
    case incident(name: String, Replica.Incident)
    case malformedMessage(channel: String)
    /// The server has lost a value many times in a row, or what stands beside it.
    case losesAgain(name: String)
    /// The server does not tell which keys were written.
    case trackingRefused(RedisSharedStateError)
    /// The server, or something before it, closes connections that are idle: it is asked more often from now on.
    case closesIdleConnections(askedAfter: Duration)
    /// The server does not tell whether it has thrown keys away.
    case vitalsRefused
  }

  /// What the thread of a connection does next while it is connected.
  package struct Work: Sendable {
    /// To be sent as they are.
    package var requests: [RedisRequest] = []
    /// Their values are to be encoded, or their updates run, and handed to ``LinkState/encoded(_:_:now:)``.
    package var encodings: [(id: ReplicaID, encoding: Replica.Encoding)] = []
    /// Until when the thread may wait for something to arrive; already over when there is more to do.
    package var waitUntil: Instant

    var count: Int { requests.count + encodings.count }
  }

  enum Request: Sendable {
    case ping
    case role
    /// Those that have found something gone.
    case vitals([ReplicaID])
    /// A ping of the subscriber; what the writer's connection had told by then.
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
    let names: KeyNames
    let valueType: String
    var isCommitQueued = false
    var isReadQueued = false
    var queuedCheck: Check?
    var isOwnCheckQueued = false
    var queuedSummary: Check?
    /// How many bytes its document has, which is to be read.
    var queuedDocument: Int?
    /// Whether its document is asked for alone, because the server has refused it together with others.
    var isReadAlone = false
    /// When it is looked at because of a message, or of what a message explains.
    var plannedLook: Instant?
    /// When a message of it came last.
    var announcedAt: Instant?
    /// How many services listen to it, as far as is known.
    var listeners = 1
    /// Whether a commit was sent since it was looked at, so that an invalidation is most likely our own.
    var isCommittedSince = false
    /// How much is being encoded for it, as far as is known before; `nil`: nothing is.
    var encodingSize: Int?
    var repairs = Repairs()
    /// When it was looked at last; `nil`: the connection is new, and the first read is still to come.
    var lookedAt: Instant?
    /// How much of the time between two looks the first one behind a new connection waits; then it is all of it.
    var antiEntropyPart = 1.0
  }

  enum Subscription: Sendable {
    case subscribeInvalidations
    case subscribe(String)
    case unsubscribe(String)
    /// In a request of their own, because the server has refused them together with others.
    case subscribeTogether([String])
  }

  /// How much is asked of the server before it has answered: enough to keep it busy, and bounded.
  static let maximumCommits = 1_024
  static let maximumCommitBytes = 8 << 20
  static let commitsInOneBatch = 256
  static let keysInOneRead = 1_024
  static let bytesInOneRead = 1 << 20
  /// How many bytes of documents are asked for at a time; a larger document is asked for alone.
  static let maximumReadBytes = 2 << 20
  static let channelsInOneSubscribe = 1_024
  /// How long a commit that the server refused waits until it is tried again.
  static let pauseAfterRefusal = Duration.seconds(2)

  package internal(set) var session: Session
  let configuration: Configuration
  var random: SplitMix64
  var keepAlive: KeepAlive

  var members = SlotTable<Member>()
  var channels: [Name: [ReplicaID]] = [:]
  var subscribedChannels: Set<Name> = []

  var exchanges = PerConnection<Exchange<Request>>()
  /// The threads that have nothing to do, and sleep until they are woken.
  var waiting = PerConnection<Void>()

  /// What the servers behind the connections have told about themselves.
  var facts = PerConnection<ServerFacts>()
  var circumstances = Replica.Circumstances()
  /// How the server was when it was asked last.
  var vitals = Vitals()
  /// How it was, at the earliest, when it sent the messages that arrive now: those have another connection, and may have
  /// been on their way for longer.
  var announcedVitals = Vitals()
  /// What messages are known to be behind of as soon as the subscriber's question is answered.
  var hearing: Vitals?
  /// When it is to be asked again, if there is anything to do; `nil`: it does not tell.
  var vitalsAt: Instant?
  /// Those that have found something gone, and need to know how the server is now.
  var countQueue: [ReplicaID] = []
  /// The difference between the server's clock and this one, in microseconds; `nil`: it is not known.
  var clock: (server: UInt64, at: Instant)?
  /// Whether somebody has left whose commit may take effect yet.
  private var hasUndecided = false
  /// When a connection was last heard of.
  var lastConnected: Instant?
  var tracking = Tracking.off
  var isTrackingQueued = false
  /// Once is enough, however often there is a new connection.
  var hasToldTrackingRefused = false
  var hasToldVitalsRefused = false
  /// How many replicas want to know of foreign edits.
  var detecting = 0
  /// Whether the server lets itself be asked for its role.
  var asksForRole = true

  var checks = Checks()
  /// What a message has told of, and is to be looked at.
  var confirmations = Queue<ReplicaID>()
  var subscriptionQueue = Queue<Subscription>()
  var readQueue = Queue<ReplicaID>()
  var readOnceQueue = Queue<OnceRead>()
  var documents = Documents()
  var commitQueue = Queue<ReplicaID>()
  /// Read in a request of their own, because the server has refused them together with others.
  var suspects = Queue<[ReplicaID]>()
  /// The values that something was asked for again, for as long as that goes on.
  var setbacks: [Setback.Key: Setback] = [:]
  /// When it is asked for, the first one first; some of them are out of date.
  var retries = Heap<Setback.Retry>()
  var waits = Waits()
  var memories = Memories()
  var breaks = Breaks()
  /// Whether the present connection has done anything of what it is for, and since when there is one.
  var hasServed = false
  var connectedAt: Instant?
  var commitsUnderWay = 0
  var commitBytesUnderWay = 0
  /// What was handed out to be encoded, and will be a commit under way.
  var encodingsUnderWay = (count: 0, bytes: 0)
  var nextOperation: UInt64 = 1

  /// Who waits for what.
  var waiters: [WaiterID: (replica: ReplicaID?, operation: String)] = [:]
  /// The deadlines of those who wait for as long as it is usual, in their order, those who are done among them.
  var waiterOrder = Queue<(deadline: Instant, WaiterID)>()
  /// The deadlines that callers have given themselves.
  var expiries = Heap<Expiry>()
  /// Until when the writer's thread waits at the longest, if it does.
  var writerLooksAt: Instant?
  var nextWaiterID: WaiterID = 1

  var givenUp = GivenUpChanges()

  var effects: [Effect] = []

  package init(configuration: Configuration, seed: UInt64) {
    self.configuration = configuration
    random = SplitMix64(seed: seed)
    session = Session(backoff: configuration.backoff)
    keepAlive = KeepAlive(interval: configuration.keepAlive)
  }

  /// What there is to do now that the lock is about to be given back.
  package mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  /// Whether there is anything to do now.
  package var hasEffects: Bool { !effects.isEmpty }

  /// Whether any local change is not acknowledged, and how many replicas have one.
  package var pendingChanges: Int { members.elements.reduce(0) { $0 + ($1.replica.hasPendingChange ? 1 : 0) } }

  /// How many atomic updates wait to be run or sent, and how many the server may have by now.
  package var openUpdates: (waiting: Int, sent: Int) {
    members.elements.reduce((0, 0)) { sum, member in
      let (waiting, sent) = member.replica.openUpdates
      return (sum.0 + waiting, sum.1 + sent)
    }
  }

  /// The newest revision of a value that a share of it knows to be in Redis; `nil`: there is no share of it.
  package func confirmedRevision(of names: KeyNames) -> Revision? {
    firstReplica(of: names).flatMap { members[$0]?.replica.confirmed.revision }
  }

  // MARK: Replicas

  /// The replica of a name that was the first one of those that are there.
  package func firstReplica(of names: KeyNames) -> ReplicaID? { channels[Name(names.channel)]?.first }

  /// A share of a name has come to life.
  ///
  /// - Throws: ``RedisSharedStateError/Code/valueTypeMismatch``, without the place,
  ///   ``RedisSharedStateError/Code/stopped``.
  package mutating func join(
    _ names: KeyNames,
    name: String,
    valueType: String,
    policy: ReplicaPolicy
  ) throws(RedisSharedStateError) -> ReplicaID {
    if session.phase == .stopped { throw .stopped }
    let channel = Name(names.channel)
    for id in channels[channel] ?? [] {
      if let existing = members[id]?.valueType, existing != valueType {
        throw .valueTypeMismatch(name: name, existing: existing, requested: valueType, declaredAt: nil)
      }
    }
    var replica = Replica(name: name, policy: policy)
    replica.hasUndecided = hasUndecided
    // What was given up before the name was shared anew counts until the value is saved, which is then told.
    replica.hasSaveError = givenUp.contains(Name(name))
    let id = members.insert(Member(replica: replica, names: names, valueType: valueType))
    channels[channel, default: []].append(id)
    effects.append(.loading(id, true))
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

  /// The last share of a name is gone, and has nothing left to save.
  package mutating func leave(_ id: ReplicaID) {
    endEncoding(of: id)
    guard let member = members.remove(id) else { return }
    if member.replica.mayTakeEffectYet { hasUndecided = true }
    forgetMemory(of: member.replica)
    if member.replica.policy.detectsForeignEdits { detecting -= 1 }
    forgetExpiry(of: id)
    forgetSetbacks(of: id)
    breaks.forget(id)
    let channel = Name(member.names.channel)
    channels[channel]?.removeAll { $0 == id }
    guard channels[channel]?.isEmpty ?? false else { return }
    channels[channel] = nil
    restIfUnused()
    guard session.phase == .connected else { return }
    subscribedChannels.remove(channel)
    subscriptionQueue.append(.unsubscribe(channel.text))
    wake(.subscriber)
  }

  /// A local mutation was made since the last snapshot.
  package mutating func changed(_ id: ReplicaID) {
    if session.phase == .stopped {
      effects += [.saveError(id, .stopped), .settled(id)]
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
      case .show(let delivery): effects.append(.show(id, delivery))
      case .loading(let isLoading): effects.append(.loading(id, isLoading))
      case .loadError(let error): effects.append(.loadError(id, error))
      case .saveError(let error):
        effects.append(.saveError(id, error))
        if error == nil, !givenUp.isEmpty, let name = members[id]?.replica.name { givenUp.remove(Name(name)) }
      case .settled: effects.append(.settled(id))
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
        let known = ids.filter { waiters.removeValue(forKey: $0) != nil }
        if !known.isEmpty { effects.append(.resume(known, error, of: id)) }
      case .report(let incident):
        guard let name = members[id]?.replica.name else { continue }
        if case .gaveUp = incident { givenUp.insert(Name(name)) }
        effects.append(.incident(name: name, incident))
      }
    }
    if let growth = members[id]?.replica.memory.takeGrowth() { remembered(growth, by: id) }
  }

  /// Wakes the thread of a connection, if it is waiting.
  mutating func wake(_ purpose: ConnectionPurpose) {
    guard waiting[purpose] != nil else { return }
    waiting[purpose] = nil
    effects.append(.wake(purpose))
  }
}
