import DequeModule
import SharedState
import SharedStateDependencies

/// All decisions of one link, as a pure value: its session, its replicas, and the requests to send next.
///
/// The shell around it (``Link``) owns the lock and the thread, reports events, and performs the ``Effect``s
/// afterwards. ``Role`` has the connections, and asks for the next ``Work`` on each of them.
struct LinkState: Sendable {
  typealias ReplicaID = UInt64
  typealias WaiterID = UInt64
  typealias WaiterCallback = @Sendable (Result<StoredValue?, RedisSharedStateError>) -> Void

  /// What the thread does next on a connection.
  struct Work: Sendable {
    /// Requests to send as they are.
    var requests: [RedisRequest] = []
    /// Values to encode, or updates to run. The results go to ``LinkState/encoded(_:_:isQuick:now:)``.
    var encodings: [(id: ReplicaID, encoding: Replica.Encoding)] = []
    /// Until when the thread may wait for input. A moment in the past if there is more to do.
    var waitUntil: Instant

    var count: Int { requests.count + encodings.count }
  }

  enum Request: Sendable {
    case ping
    case role
    /// Asks for the server's vitals, for the replicas that have found a value missing.
    case vitals([ReplicaID])
    /// A PING on the subscriber, with the vitals that the writer's connection had reported by then.
    case hearing(Vitals)
    case secret
    case track
    case subscribeInvalidations
    case subscribe([String])
    case unsubscribe
    case summarize([SummaryRead], isCheck: Bool, Vitals)
    /// Tracks values again, of which so many have to exist.
    case trackAgain([ReplicaID], existing: Int)
    /// Reads documents. The answer to a later request may arrive before this one's, so the vitals are those that were
    /// known when it was sent.
    case read([(id: ReplicaID, number: UInt64)], bytes: Int, Vitals)
    case summarizeOnce(OnceRead)
    case readOnce(WaiterID, bytes: Int)
    /// Reads a document that is expected to be known. It has about so many bytes.
    case compare(ReplicaID, bytes: Int)
    /// Reads what the server keeps of a version.
    case base(ReplicaID, Version)
    case commit(ReplicaID, Operation, bytes: Int, sentAt: Instant)
    case replicas(RedisReplicas)
  }

  struct Member {
    var replica: Replica
    /// `nil`: it reads documents of any type.
    let valueType: String?
    /// The share's attachment, as effects carry it.
    let attachment: AttachmentReference
    /// The box, as long as it has an unacknowledged change.
    fileprivate(set) var unsettled: RetainedBox?
    /// `nil` unless both connections are open.
    var online: OnlineMember?
    /// Whether its last encoding took so little time that a caller may encode it.
    var encodesQuickly = false
    /// When its commits are this writer's turn.
    var turns = Turns()
    /// How many services listen to it, as reported last.
    var listeners = 1
    /// Whether its document is read alone, because the server has refused it together with others.
    var isReadAlone = false
    /// Whether user code keeps it from being shown.
    var isKeptBack = false
    /// The newest change of another service that a message has announced, until the box shows it.
    fileprivate var announced: Revision?
    /// The last edit without a revision that it has shown, and when that was seen.
    private(set) var unversioned: (state: Replica.State, since: Instant)?
    /// Whether it waits in the queue of trials.
    fileprivate var isTrialQueued = false

    /// The name of the value, unless it lacks a change whose discarding was not reported.
    fileprivate var nameIfWhole: String? { replica.reports.discarded == nil ? replica.name : nil }
  }

  static let commitsInOneBatch = 256
  static let trialsInOneBatch = 16
  static let keysInOneRead = 1_024
  /// How many requests for summaries may be without an answer. While there are others, a new one has to be full.
  static let summariesUnderWay = 4
  static let bytesInOneRead = 1 << 20
  /// A larger document is read after its summary, where there is room for it.
  static let bytesInOneComparison = 1 << 16
  /// The pause after a refused commit until it is tried again.
  static let pauseAfterRefusal = Duration.seconds(2)

  var session: Session
  let configuration: Configuration
  var random: SplitMix64

  var members = SlotTable<Member>()
  var listeners = Listeners()
  /// How many replicas detect external edits.
  var detecting = 0

  var keepAlive: KeepAlive
  /// When the server was last heard from on connections that have ended.
  var lastHeard: Instant?
  var sleep = Sleep()
  /// `nil` unless both connections are open.
  var online: Online?
  /// Whether a replica has left whose commit may still take effect.
  private var hasUndecided = false
  var secrets: Secrets
  var certificates = CertificateExpiry()
  var memories = Memories()

  /// The replicas whose local change is tried, because it cannot be sent yet.
  private var trials = Deque<ReplicaID>()
  /// Reads of values that are not shared.
  var onceReads = Deque<OnceRead>()
  var nextOperation: UInt64 = 1
  /// The value whose next commit is not queued, because it is sent immediately.
  var sender: Sender?
  var retries: [Retry.Key: Retry] = [:]
  var breaks = ConnectionBreakers()

  var waiters = WaitList()
  var replication = Replication()
  var givenUp = GivenUpChanges()
  var measurements = Measurements()
  var snapshots: SnapshotSchedule

  private(set) var effects: [Effect] = []
  private var logged: Set<LoggedOnce> = []
  /// Numbers the updates of a status, so that a late thread never overwrites a newer one.
  private var lastNumber: UInt64 = 0

  init(configuration: Configuration, seed: UInt64) {
    self.configuration = configuration
    random = SplitMix64(seed: seed)
    secrets = Secrets(candidate: configuration.secret)
    session = Session(backoff: configuration.backoff)
    keepAlive = KeepAlive(interval: configuration.keepAlive)
    snapshots = SnapshotSchedule(delay: configuration.snapshotDelay)
  }

  /// Takes the effects to perform once the lock is released.
  mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  /// Whether there are effects to perform.
  var hasEffects: Bool { !effects.isEmpty }

  /// Adds an effect for the measurements if there are any, and none is under way.
  mutating func takeMeasurements() {
    if measurements.isDue { emit(.measured(measurements.take(isStale: isStale))) }
  }

  /// Whether values may be stale, because the store is not live. One that rests is not asked for anything.
  private var isStale: Bool { session.phase != .idle && !isLive }

  /// How many replicas have a local change that is not acknowledged.
  var pendingChanges: Int { members.elements.reduce(0) { $0 + ($1.replica.hasPendingChange ? 1 : 0) } }

  /// The names of these replicas.
  var pendingNames: [String] { members.elements.compactMap { $0.replica.hasPendingChange ? $0.replica.name : nil } }

  /// How many atomic updates wait to be run or sent, and how many were sent and may have reached the server.
  var openUpdates: (waiting: Int, sent: Int) {
    members.elements.reduce((0, 0)) { sum, member in
      let (waiting, sent) = member.replica.openUpdates
      return (sum.0 + waiting, sum.1 + sent)
    }
  }

  /// The newest revision that a share of the value knows to be in Redis; `nil` if there is no share of it.
  func confirmedRevision(of names: KeyNames) -> Revision? {
    firstReplica(of: names).flatMap { members[$0]?.replica.confirmed.revision }
  }

  // MARK: Replicas

  /// The oldest of the replicas of a name; `nil` if there is none.
  func firstReplica(of names: KeyNames) -> ReplicaID? {
    listeners[Name(names.channel)]?.first
  }

  /// The attachment of the oldest replica of a name that has a type.
  func firstAttachment(of names: KeyNames) -> AttachmentReference? {
    let ids = listeners[Name(names.channel)] ?? []
    return ids.lazy.compactMap { members[$0] }.first { $0.valueType != nil }?.attachment
  }

  /// Adds a replica for a new share of a name. The attachment is held weakly.
  ///
  /// - Parameters:
  ///   - valueType: All shares of a name have the same; `nil`: the replica goes with any of them.
  ///   - snapshot: The state of a snapshot that the box shows; `nil`: it shows the default.
  /// - Throws: ``RedisSharedStateError/Code/valueTypeMismatch``, without the place,
  ///   ``RedisSharedStateError/Code/stopped``.
  mutating func join(
    _ names: KeyNames,
    name: String,
    valueType: String?,
    policy: ReplicaPolicy,
    snapshot: SnapshotState? = nil,
    attachment: (any ReplicaAttachment)? = nil
  ) throws(RedisSharedStateError) -> ReplicaID {
    if session.phase == .stopped { throw .stopped }
    let channel = Name(names.channel)
    if let valueType {
      for id in listeners[channel] ?? [] {
        guard let existing = members[id]?.valueType, existing != valueType else { continue }
        throw .valueTypeMismatch(name: name, existing: existing, requested: valueType, declaredAt: nil)
      }
    }
    var replica = Replica(name: name, names: names, policy: policy, snapshot: snapshot)
    replica.hasUndecided = hasUndecided
    // A change given up before the name was shared again still counts, until a save of the value is reported.
    if givenUp.contains(Name(name)) { replica.reports.saveFailed() }
    let id = members.insert(
      Member(replica: replica, valueType: valueType, attachment: AttachmentReference(attachment))
    )
    let isFirst = listeners.add(id, to: channel)
    publish(id, .loading(true))
    if policy.detectsForeignEdits { detecting += 1 }
    replication.use(policy.replicas)
    if session.phase == .connected, let circumstances = online?.circumstances {
      askForTracking()
      members[id]?.online = OnlineMember(reading: ReadState(antiEntropyPart: 1))
      members[id]?.replica.connected(circumstances)
      if online?.secretReads.isAnswered ?? false, let secret = secrets.stored {
        members[id]?.replica.compareSnapshot(withSecret: secret.digest)
      }
      if online?.subscriptions.isConfirmed(channel) ?? false {
        apply(members[id]?.replica.subscribed(), to: id)
      } else if isFirst {
        online?.subscriptions.subscribe(to: names.channel)
        wake()
      }
    } else if let error = session.lastError {
      apply(members[id]?.replica.disconnected(error), to: id)
    }
    start()
    return id
  }

  /// Removes the replica of a share that is gone and has nothing left to save.
  mutating func leave(_ id: ReplicaID) {
    endEncoding(of: id)
    members[id]?.unsettled?.beginRelease()
    keepDeparting(id)
    guard let member = members.remove(id) else { return }
    // A share that is gone keeps its box while the last change is settled elsewhere.
    if let unsettled = member.unsettled {
      emit(.settled(id, unsettled))
      measurements.settled()
    }
    if member.replica.mayTakeEffectYet { hasUndecided = true }
    memories.forget(member.replica.verified.memory, of: id)
    replication.forget(.value(id))
    if member.replica.policy.detectsForeignEdits { detecting -= 1 }
    if member.online?.isBehind ?? false { endWaitingForOne() }
    for concern in Retry.Concern.allCases { forget(Retry.Key(id, concern: concern)) }
    online?.agenda.cancelAll(of: id)
    for kind in ConnectionBreakers.Kind.allCases { breaks.forget(id, kind) }
    let channel = Name(member.replica.names.channel)
    guard listeners.remove(id, from: channel) else { return }
    restIfUnused()
    guard session.phase == .connected else { return }
    online?.subscriptions.unsubscribe(from: channel)
    wake()
  }

  /// A local mutation with this stamp was made that the link may not commit.
  mutating func discarded(_ id: ReplicaID, stamp: UInt64) {
    apply(members[id]?.replica.discarded(stamp: stamp), to: id)
  }

  /// An attempt to show a state has ended.
  mutating func endedShowing(
    _ toShow: Replica.StateToShow,
    of id: ReplicaID,
    outcome: Replica.ShowOutcome
  ) {
    members[id]?.isKeptBack = false
    switch outcome {
    case .shown, .shownInPart:
      if case .shownInPart = outcome { measurements.failedToDecode() }
      snapshots.changed()
      if let announced = members[id]?.takeAnnounced(upTo: toShow.state.revision) { measurements.delivered(announced) }
    case .unreadable where toShow.state.content.document != nil: measurements.failedToDecode()
    case .superseded, .outdated, .unreadable: break
    }
    apply(members[id]?.replica.endedShowing(toShow, outcome: outcome), to: id)
    // Where changes arrive faster than they can be shown, each state is followed by another.
    if members[id]?.replica.isRead ?? false { caughtUp(id) }
  }

  // MARK: -

  mutating func apply(
    _ actions: [Replica.Action]?,
    to id: ReplicaID,
    now: Instant? = nil
  ) {
    for action in actions ?? [] {
      if configuration.logsDecisions, let name = members[id]?.replica.name {
        emit(.decided(name: name, Replica.Action.Summary(action)))
      }
      switch action {
      case .show(let toShow):
        if let member = members[id] { emit(.show(id, toShow, member.attachment)) }
      case .status(let change):
        publish(id, change)
        if case .saveError = change { replication.withdrawReport(of: id) }
        if change == .saveError(nil), !givenUp.isEmpty, let name = members[id]?.nameIfWhole {
          givenUp.remove(Name(name))
        }
      case .acknowledged(let revision, let isWritten): acknowledged(id, revision, isWritten: isWritten)
      // The box is kept until replicas have its change.
      case .settled: if replication.change(of: id) == nil { settle(id) }
      case .read:
        queueRead(of: id)
      case .readLater(let milliseconds):
        request(.expiry, of: id, after: .milliseconds(Int64(clamping: milliseconds)) + Checks.pause)
      case .confirm: request(.confirmation, of: id, after: .zero)
      case .count:
        online?.vitals.ask(for: id)
        wake()
      case .readBase(let version):
        online?.bases.ask(for: id, version)
        wake()
      case .wait(let grace): request(.grace(grace), of: id, after: configuration.duration(of: grace))
      case .commit:
        queueCommit(of: id)
      case .retryLater:
        let passing = members[id]?.replica.online?.refusal
        if let now { pauseAfterRefusal(of: id, .commit, passing: passing, now: now) }
      case .resume(let ids, let error):
        resume(error == nil ? awaitReplicas(ids, of: id) : ids, error, of: id)
      case .report(let incident):
        guard let name = members[id]?.replica.name else { continue }
        if case .gaveUp = incident { givenUp.insert(Name(name), members[id]?.attachment) }
        emit(.incident(name: name, incident))
        noteLoss(incident, of: id)
      }
    }
    if let growth = members[id]?.replica.verified.memory.takeGrowth() { remembered(growth, by: id) }
    noteProgress(of: id)
    if members[id]?.queuesTrial() ?? false {
      trials.append(id)
      wake()
    }
  }

  /// A value was read. It may show an edit that this service does not adopt.
  mutating func reportEdit(of id: ReplicaID, now: Instant) {
    guard let found = members[id]?.noteUnversioned(now: now), let name = members[id]?.replica.name else { return }
    emit(.incident(name: name, .unversioned(isDeletion: found == .deletion)))
  }

  /// Adds effects for some of the changes to be tried. Only the thread asks, so that no caller waits for an encoder.
  mutating func takeTrials() {
    // While it is not connected, the thread has to connect in between.
    for _ in 0..<(online == nil ? Self.trialsInOneBatch : trials.count) {
      guard let id = trials.popFirst() else { return }
      guard let encoding = members[id]?.takeTrial(), session.phase != .stopped else { continue }
      emit(effect(of: encoding, for: id))
    }
  }

  /// Plans something for a value after this time.
  private mutating func request(_ cause: Agenda.Cause, of id: ReplicaID, after pause: Duration) {
    online?.agenda.request(Agenda.Item(id: id, cause: cause), after: pause)
    wake()
  }

  /// Wakes the thread if it is sleeping.
  mutating func wake() {
    if sleep.end() { emit(.wake) }
  }

  // MARK: Effects

  mutating func emit(_ effect: Effect) { effects.append(effect) }

  /// Puts effects back that were taken, before all others.
  mutating func putBack(_ taken: [Effect]) { effects.insert(contentsOf: taken, at: 0) }

  /// The facts about a server that are logged once, however often the link reconnects.
  enum LoggedOnce { case trackingRefused, trackingFutile, trackingSilent, vitalsRefused }

  mutating func emit(_ effect: Effect, once topic: LoggedOnce) {
    if logged.insert(topic).inserted { emit(effect) }
  }

  mutating func publishStatus() {
    // Before the log, whose handler may be slow.
    let number = nextNumber()
    emit(.statusChanged(session, isLive: isLive, number: number))
    // Connections that are open, but not live, are no news to an operator.
    if session.phase != .connected || isLive { emit(.sessionChanged(session, isLive: isLive, number: number)) }
    measurements.touch()
  }

  mutating func publish(_ id: ReplicaID, _ change: Replica.StatusChange) {
    guard let attachment = members[id]?.attachment else { return }
    emit(.status(id, change, attachment, number: nextNumber()))
  }

  /// Keeps the box of a replica until its change is acknowledged or given up.
  mutating func keep(_ box: RetainedBox?, of id: ReplicaID) {
    guard members[id]?.keep(box) ?? false else { return }
    measurements.becamePending()
    guard session.phase != .connected else { return }
    // No reply will wake the thread.
    measurements.notePending()
    if measurements.isDue { wake() }
  }

  /// Releases the box of a replica.
  mutating func settle(_ id: ReplicaID) {
    members[id]?.unsettled?.beginRelease()
    let kept = members[id]?.unsettled.take()
    if kept != nil { measurements.settled() }
    emit(.settled(id, kept))
  }

  /// Resumes those waiters that are still waiting.
  ///
  /// - Parameter replica: Its earlier effects come first; `nil`: nothing has to.
  mutating func resume(_ ids: [WaiterID], _ error: RedisSharedStateError?, of replica: ReplicaID? = nil) {
    var (known, resumed): ([WaiterID], [Waiter]) = ([], [])
    for id in ids {
      guard let waiter = waiters.remove(id) else { continue }
      replication.forget(.waiter(id))
      if waiter.replica == nil {
        emit(.answer(id, error.map { .failure($0) } ?? .success(nil), waiter.callback))
      } else if waiter.outcome != nil {
        emit(.resume([id], waiter.error(insteadOf: error), of: nil, [waiter]))
      } else {
        known.append(id)
        resumed.append(waiter)
      }
    }
    if !known.isEmpty { emit(.resume(known, error, of: replica, resumed)) }
  }

  private mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }
}

extension LinkState.Member {
  /// Keeps the box, and returns whether none was kept before.
  fileprivate mutating func keep(_ box: RetainedBox?) -> Bool {
    // The first of several changes says since when one is pending.
    guard unsettled == nil else { return false }
    unsettled = box
    return box != nil
  }

  /// Whether the replica has to be queued, because its local change has to be tried.
  fileprivate mutating func queuesTrial() -> Bool {
    guard !isTrialQueued, replica.wantsTrial() else { return false }
    isTrialQueued = true
    return true
  }

  fileprivate mutating func takeTrial() -> Replica.Encoding? {
    isTrialQueued = false
    return replica.beginTrial()
  }

  /// Notes the edit without a revision that it shows. Returns what it is, if that is news.
  fileprivate mutating func noteUnversioned(now: Instant) -> Replica.Unversioned? {
    guard let found = replica.unversioned, unversioned?.state != replica.confirmed.state else { return nil }
    unversioned = (replica.confirmed.state, now)
    return found
  }

  /// A message has announced a change of another service.
  mutating func note(announced revision: Revision) { announced = revision }

  /// The change that was announced, if the box shows it or a newer one.
  fileprivate mutating func takeAnnounced(upTo shown: Revision) -> Revision? {
    guard let revision = announced, revision <= shown else { return nil }
    return announced.take()
  }
}

/// Whether the thread sleeps.
struct Sleep: Sendable {
  private var isUnderWay = false
  /// Until when at most; `nil` if it has not slept yet.
  private var until: Instant?

  /// Whether the thread wakes up by then without being woken.
  func ends(by deadline: Instant) -> Bool { until.map { $0 <= deadline } ?? false }

  /// The thread begins to sleep. From now on a change has to wake it.
  mutating func begin(until deadline: Instant) { (isUnderWay, until) = (true, deadline) }

  /// The thread is awake, or is being woken. Returns whether it slept.
  mutating func end() -> Bool {
    defer { isUnderWay = false }
    return isUnderWay
  }
}
